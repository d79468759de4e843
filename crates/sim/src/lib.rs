//! A simulated inference server with scripted latency, faults and a ground-truth log
