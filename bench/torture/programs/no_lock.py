#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""no_lock.py: the control that must lose updates. Every process believes that it holds."""

import body


class NoLock(body.Lock):
    def acquire(self):
        return None

    def release(self):
        pass


body.serve(NoLock())
