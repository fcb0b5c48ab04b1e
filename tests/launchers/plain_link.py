#!/usr/bin/env python3
"""A link between two hosts as plain sockets see it: round trips of a byte, and a stream one way.

    plain_link.py serve ADDRESS       # once, on one host, until it is killed
    plain_link.py measure ADDRESS     # on the other: JSON with round_trip_seconds and bytes_per_second

Only Python's standard library is used.
"""
import json
import socket
import statistics
import sys
import time

PORT = 29519
ROUND_TRIPS = 200
BLOCK = bytes(1 << 20)
STREAM_SECONDS = 0.5


def serve(address):
    with socket.create_server((address, PORT)) as listening:
        print("ready", flush=True)
        while True:
            other, _ = listening.accept()
            with other:
                other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for _ in range(ROUND_TRIPS):
                    other.sendall(other.recv(1))
                while other.recv(len(BLOCK)):
                    pass
                other.sendall(b"x")


def measure(address):
    with socket.create_connection((address, PORT)) as other:
        other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        trips = []
        for _ in range(ROUND_TRIPS):
            begin = time.monotonic()
            other.sendall(b"x")
            other.recv(1)
            trips.append(time.monotonic() - begin)
        begin, sent = time.monotonic(), 0
        while time.monotonic() - begin < STREAM_SECONDS:
            other.sendall(BLOCK)
            sent += len(BLOCK)
        other.shutdown(socket.SHUT_WR)
        other.recv(1)
        return {"round_trip_seconds": statistics.median(trips),
                "bytes_per_second": sent / (time.monotonic() - begin)}


if __name__ == "__main__":
    way, at = sys.argv[1:]
    if way == "serve":
        serve(at)
    print(json.dumps(measure(at)))
