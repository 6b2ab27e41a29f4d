# Sourced by the scripts beside it: `venv LOCK` makes .venv hold what the lock file says, and does nothing when it does.
venv() {
  lock=$1
  stamp=.venv/.$(basename "$lock").$(cksum <"$lock" | cut -d' ' -f1)
  [ -e "$stamp" ] && return 0
  python=${PYTHON:-python3.11}
  command -v "$python" >/dev/null 2>&1 || python=python3
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "Skydeck needs Python 3.11 or newer; $python is older or missing. Set PYTHON to one." >&2
    exit 1
  }
  [ -x .venv/bin/python ] || {
    echo "Making the Python environment in .venv …"
    "$python" -m venv .venv || { echo "Install Python's venv module (Debian: python3-venv)." >&2; exit 1; }
  }
  echo "Installing what $lock names …"
  # uv is several times quicker than pip; pip does the same where uv cannot be had.
  if .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock 2>/dev/null; then
    .venv/bin/python -m uv pip install --quiet --python .venv/bin/python --require-hashes --compile-bytecode -r "$lock"
  else
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
  fi
  rm -f .venv/."$(basename "$lock")".*
  : >"$stamp"
}
