"""Bringing one balancer's tree to what people want: `looking`, `waiting`, `sending`, `storing`, and the `loop` of them all."""
