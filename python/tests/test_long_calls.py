"""Calls that take long: Ctrl-C, callbacks, Python's lock."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ztrack

# The estimator is imported before: a signal during imports is no matter of ours.
# A shell's background jobs are born deaf to Ctrl-C, and so would be what these tests start there.
LONG = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
LONG += "import numpy as np, ztrack; RBM = ztrack.RBM; r = np.random.default_rng(1)\n"
MODEL = "m = r.normal(0, .3, (300, 300)), np.zeros(300), np.zeros(300)\n"


def processor_time(process):
    """Whole seconds, as text."""
    return subprocess.run(["ps", "-o", "time=", "-p", str(process.pid)], capture_output=True, text=True).stdout[:8]


def big():
    random = np.random.default_rng(1)
    return random.normal(0, 0.3, (300, 300)), np.zeros(300), np.zeros(300)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    "call",
    [
        "ztrack.log_partition(*m, method='ais', chains=5000)",
        "ztrack.log_partition(*m, method='rts', sweeps=10**7)",
        "ztrack.sample(*m, 10**6, burn_in=10**7)",
        "RBM(n_iter=10**6).fit(r.integers(0, 2, (1000, 20)))",
    ],
)
def test_ctrl_c_ends_it(call):
    code = f"{LONG}{MODEL}print('go', flush=True)\ntry:\n    {call}\nexcept KeyboardInterrupt:\n    print('ended')\n"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "go\n"
        # At work: two seconds of processor time have begun since.
        for _ in range(2):
            start = processor_time(process)
            while process.poll() is None and processor_time(process) == start:
                time.sleep(0.05)
        assert process.poll() is None, "the call is too short for this test"
        process.send_signal(signal.SIGINT)
        # The call by itself would take hours.
        assert process.stdout.readline() == "ended\n"
        assert process.wait() == 0


def test_a_callback_follows_and_ends_a_call():
    lines = []
    assert ztrack.log_partition(*big(), method="auto", budget=0, sweeps=20, progress=lines.append)
    assert any("annealing" in line or "sweeps" in line for line in lines), lines
    with pytest.raises(ztrack.Interrupted):
        ztrack.log_partition(*big(), method="auto", progress=lambda line: False)

    class Mine(Exception):
        pass

    def fail(line):
        raise Mine(line)

    with pytest.raises(Mine):
        ztrack.log_partition(*big(), method="auto", progress=fail)


def test_ending_one_call_ends_no_other(model):
    results = {}

    def other():
        results["other"] = ztrack.log_partition(*model, method="rts", sweeps=3000, seed=1).value

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(3):
        with pytest.raises(ztrack.Interrupted):
            ztrack.log_partition(*big(), method="auto", progress=lambda line: False)
    thread.join()
    assert results["other"] == ztrack.log_partition(*model, method="rts", sweeps=3000, seed=1).value


def test_other_threads_of_python_run_meanwhile():
    # The call would take hours: only what another thread does meanwhile ends it.
    code = f"""{LONG}{MODEL}import _thread, threading
begun = threading.Event()
def other():
    begun.wait()
    sum(range(10**6))
    _thread.interrupt_main()
threading.Thread(target=other).start()
try:
    ztrack.log_partition(*m, method='rts', sweeps=10**7, progress=lambda line: begun.set())
except KeyboardInterrupt:
    print('ended')
"""
    # The limit ends a test that hangs.
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert ended.stdout == "ended\n", ended.stderr


def test_a_callback_ends_a_step_that_takes_long():
    # Lines with a percentage come from within a step, which would take hours.
    with pytest.raises(ztrack.Interrupted):
        ztrack.log_partition(*big(), method="rts", sweeps=10**7, progress=lambda line: "%" not in line)


def test_a_mistyped_count_of_samples_is_refused(model):
    for parameters in [model, big()]:
        with pytest.raises(ztrack.TooLargeError):
            ztrack.sample(*parameters, 10**13)


@pytest.mark.skipif(os.name != "posix", reason="ends of processes of POSIX")
def test_a_daemon_in_a_call_does_not_abort_the_exit():
    code = f"""{LONG}{MODEL}import threading
begun = threading.Event()
def work():
    ztrack.log_partition(*m, method='rts', sweeps=10**7, progress=lambda line: begun.set())
threading.Thread(target=work, daemon=True).start()
begun.wait()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
