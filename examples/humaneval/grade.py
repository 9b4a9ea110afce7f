#!/usr/bin/env python3
"""Command evaluator for HumanEval: runs prompt + completion + test in a Python process of its own.

Reads one JSON document on stdin: {"case": {"input": prompt, "expected": test, "context": entry_point, …},
"envelope": {"text": completion, …}, …}; `expected` may also be {"test": …, "entry_point": …}.
Prints one JSON finding: {"status", "score", "reason", "evidence"}.

The finding holds no durations, paths or addresses, so that the same answer is graded in the same bytes every time.
HUMANEVAL_TIME_LIMIT_S bounds one problem (default 10). This is no sandbox: the completion runs as you.
"""

import json
import os
import re
import resource
import secrets
import signal
import subprocess
import sys
import tempfile

EVIDENCE_CHARS = 2_000
OUTPUT_BYTES = 1024 * 1024
MEMORY_BYTES = 4 * 1024**3


def main():
    # As an exception, so that an end asked for from outside also kills the program and removes its folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        finding = grade(read_document(), time_limit())
    except BadInput as error:
        finding = {"status": "error", "score": None, "reason": str(error), "evidence": None}
    json.dump(finding, sys.stdout)
    print()


class BadInput(Exception):
    """The document is not one that this grader can grade: the grader's fault, never the agent's."""


def read_document():
    try:
        document = json.load(sys.stdin)
    except ValueError as error:
        raise BadInput(f"stdin holds no JSON document: {error}") from error
    if not isinstance(document, dict):
        raise BadInput("stdin holds JSON that is no object")
    return document


def grade(document, limit_s):
    case, completion = document.get("case") or {}, (document.get("envelope") or {}).get("text")
    prompt = case.get("input")
    expected, context = case.get("expected"), case.get("context")
    test = expected.get("test") if isinstance(expected, dict) else expected
    entry_point = next((name for name in (context, member(context), member(expected)) if isinstance(name, str)), None)
    if not isinstance(prompt, str) or not isinstance(test, str) or entry_point is None:
        raise BadInput("the case lacks prompt, test or entry_point; map them with `fields` as in profile.yaml")
    if not entry_point.isidentifier():
        raise BadInput(f"entry_point `{entry_point}` is not the name of a Python function")
    if not isinstance(completion, str):
        return failed("the agent gave no text", None)
    return run(f"{prompt}{completion}\n{test}\ncheck({entry_point})\n", entry_point, limit_s)


def run(program, entry_point, limit_s):
    # The token is printed after the last check: a program that exits early with code 0 has not passed.
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="humaneval-") as folder, tempfile.TemporaryFile() as errors:
        reader, writer = os.pipe()
        with open(os.path.join(folder, "program.py"), "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(f"{program}import os\nos.write({writer}, b'{token}')\n")
        child = subprocess.Popen(
            [sys.executable, "-s", "-B", "program.py"],
            cwd=folder,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=[writer],
            start_new_session=True,
            preexec_fn=lambda: confine(limit_s),
        )
        os.close(writer)
        try:
            code = child.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            kill_group(child)
            child.wait()
        os.set_blocking(reader, False)
        finished = read_now(reader) == token.encode()
        os.close(reader)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4 * EVIDENCE_CHARS))
        stderr = stable(errors.read().decode("utf-8", "replace"), folder)

    if code is None or code == -signal.SIGXCPU:
        return failed(f"did not finish within {limit_s} s", stderr)
    if finished and code == 0:
        return {"status": "passed", "score": 1, "reason": f"`{entry_point}` passed its checks", "evidence": None}
    if code == 0:
        return failed("ended before its checks were done", stderr)
    last = next((line for line in reversed(stderr.splitlines()) if line.strip()), "")
    return failed(last[:300] if last else f"ended with code {code}", stderr)


def confine(limit_s):
    """In the child, before it becomes the program: bounds that hold even when this grader is killed outright."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s + 1, limit_s + 2))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(limit_s + 5)


def kill_group(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # the whole group has ended already


def read_now(descriptor):
    try:
        return os.read(descriptor, 4096)
    except BlockingIOError:
        return b""  # a process that escaped the group holds the other end


def stable(text, folder):
    """The end of stderr without what differs from run to run."""
    text = text.replace(os.path.realpath(folder) + os.sep, "").replace(folder + os.sep, "")
    return re.sub(r"\b0x[0-9a-f]{6,}\b", "0x…", text)[-EVIDENCE_CHARS:]


def failed(reason, stderr):
    return {"status": "failed", "score": 0, "reason": reason, "evidence": {"stderr": stderr} if stderr else None}


def member(value):
    return value.get("entry_point") if isinstance(value, dict) else None


def time_limit():
    text = os.environ.get("HUMANEVAL_TIME_LIMIT_S", "10")
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise BadInput(f"HUMANEVAL_TIME_LIMIT_S is `{text}`; write whole seconds from 1 to 9999")
    return int(text)


if __name__ == "__main__":
    main()
