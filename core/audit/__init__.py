"""The audit trail: who changed what, written in the transaction of the change."""
