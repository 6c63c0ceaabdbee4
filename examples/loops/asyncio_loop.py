#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""asyncio_loop.py [HOSTS]: uvzk in a program with an asyncio loop.

    $ python3 asyncio_loop.py 127.0.0.1:2181

It calls libuvzk and libuv by ctypes, and needs no extension module. A reader and a timer of asyncio
run libuv's loop, in asyncio's thread. A coroutine acquires a lock and releases it, and another one
ticks meanwhile."""

import asyncio
import ctypes
import sys

uv = ctypes.CDLL("libuv.so.1")
uvzk = ctypes.CDLL("libuvzk.so.0.4")
uvzk.uvzk_refusal.restype = ctypes.c_char_p
uvzk.uvzk_strerror.restype = ctypes.c_char_p
uvzk.uvzk_hold_token.restype = ctypes.c_int64

UV_RUN_NOWAIT = 2
HOLD_CB = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)  # acquire_cb, lost_cb, release_cb
CLIENT_CB = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # close_cb
Shell = ctypes.c_void_p * 4  # uvzk_client_t, uvzk_mutex_t, uvzk_hold_t: four pointers
Options = ctypes.c_char * 1024  # more than uvzk_client_options_t has; options are set by name


def check(status):
    if status < 0:
        raise OSError(uvzk.uvzk_refusal(status).decode())


class UvLoop:
    """A libuv loop that asyncio's loop runs."""

    def __init__(self):
        self.asyncio = asyncio.get_running_loop()
        self.loop = ctypes.create_string_buffer(uv.uv_loop_size())
        check(uv.uv_loop_init(self.loop))
        self.timer = None
        self.asyncio.add_reader(uv.uv_backend_fd(self.loop), self.turn)

    def turn(self):
        """Runs libuv's loop once, and asks it how long it may sleep from now on. Callbacks of uvzk
        run in here; they must not call it."""
        uv.uv_run(self.loop, UV_RUN_NOWAIT)
        self.turn_after(self.timeout())

    def timeout(self):
        """In ms; -1: until something is readable."""
        if not uv.uv_loop_alive(self.loop):
            return -1  # uv_backend_timeout would return 0
        uv.uv_update_time(self.loop)
        return uv.uv_backend_timeout(self.loop)

    def turn_after(self, ms):
        if self.timer:
            self.timer.cancel()
        self.timer = self.asyncio.call_later(ms / 1000, self.turn) if ms >= 0 else None

    def close(self):
        """Once every handle is closed."""
        self.turn_after(-1)
        self.asyncio.remove_reader(uv.uv_backend_fd(self.loop))
        while uv.uv_run(self.loop, UV_RUN_NOWAIT):
            pass
        check(uv.uv_loop_close(self.loop))


class Call:
    """A call of uvzk whose callback ends an asyncio future. Until then `pending` keeps Python from
    freeing the memory and the functions that uvzk refers to."""

    pending = set()

    def __init__(self, uv_loop, callback):
        self.uv_loop, self.callback = uv_loop, callback(self.end)
        self.future = asyncio.get_running_loop().create_future()

    def end(self, _, status=0):
        Call.pending.discard(self)
        self.future.set_result(status)

    async def __call__(self, function, *arguments):
        self.arguments = arguments
        check(function(*arguments))
        Call.pending.add(self)
        self.uv_loop.turn_after(0)  # the call may have started a timer, or a descriptor
        status = await asyncio.shield(self.future)
        if status < 0:
            raise OSError(uvzk.uvzk_strerror(status).decode())


class Client:
    def __init__(self, uv_loop, text):
        options = Options()
        self.uv_loop, self.shell = uv_loop, Shell()
        self.locks = []  # uvzk refers to them until the client is closed
        uvzk.uvzk_client_options_init_size(options, ctypes.c_size_t(len(options)))
        check(uvzk.uvzk_client_options_parse(options, text.encode()))
        check(uvzk.uvzk_client_init(uv_loop.loop, self.shell, options))
        uvzk.uvzk_client_options_free(options)
        check(uvzk.uvzk_client_start(self.shell))
        uv_loop.turn_after(0)

    async def close(self):
        call = Call(self.uv_loop, CLIENT_CB)
        await call(uvzk.uvzk_client_close, self.shell, call.callback)


class Mutex:
    """`async with mutex as token`, for one task at a time."""

    def __init__(self, client, path):
        self.uv_loop, self.shell, self.hold = client.uv_loop, Shell(), Shell()
        self.lost = asyncio.Event()
        self.lost_cb = HOLD_CB(lambda _, reason: self.lost.set())
        check(uvzk.uvzk_mutex_init(client.shell, self.shell, path.encode()))
        client.locks.append(self)

    async def __aenter__(self):
        call = Call(self.uv_loop, HOLD_CB)
        try:
            await call(uvzk.uvzk_lock_acquire, self.shell, self.hold, None, call.callback, self.lost_cb)
        except asyncio.CancelledError:
            if uvzk.uvzk_hold_cancel(self.hold) < 0:
                await self.__aexit__()  # it was granted just before
            self.uv_loop.turn_after(0)
            raise
        return uvzk.uvzk_hold_token(self.hold)

    async def __aexit__(self, *exception):
        call = Call(self.uv_loop, HOLD_CB)
        await call(uvzk.uvzk_hold_release, self.hold, call.callback)


async def tick(ticks):
    while True:
        await asyncio.sleep(0.01)
        ticks.put_nowait("tick")


async def main(hosts):
    uv_loop = UvLoop()
    client = Client(uv_loop, hosts)
    ticks = asyncio.Queue()
    ticking = asyncio.create_task(tick(ticks))
    async with Mutex(client, "/examples/asyncio") as token:
        print(f"granted, token {token}")
        while not ticks.empty():
            ticks.get_nowait()  # from before
        for _ in range(3):
            await ticks.get()
        print("3 ticks while the lock was held")
    print("released: yes")
    ticking.cancel()
    await client.close()
    uv_loop.close()
    print("libuv's loop is closed: yes")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:2181"))
