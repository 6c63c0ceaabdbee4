/* SPDX-License-Identifier: Apache-2.0 */
/* Makes each allocation of uvzk.hpp fail, one after the other. Included by one source file
 * of a program only. */
#ifndef UVZK_TESTS_CPP_MEMORY_HPP
#define UVZK_TESTS_CPP_MEMORY_HPP

#include "kit.hpp"

inline int allocations_left = -1; /* -1: enough */

inline bool fails()
{
    if (allocations_left > 0) {
        allocations_left--;
    }
    return allocations_left == 0;
}

/* Tells the story in a world of its own until nothing fails in it. It returns whether its
 * outcome was one of those that are allowed. Returns how many allocations there were. */
inline int fail_each_allocation(bool (*story)())
{
    for (int n = 1;; n++) {
        world world;
        allocations_left = n;
        bool as_said = story();
        bool failed = allocations_left == 0;
        allocations_left = -1;
        CHECK(as_said);
        if (!failed) {
            return n - 1;
        }
    }
}

/* The header's own allocations, which are these; the library's are its tests' business. Out
 * of line, where gcc does not take them for a mismatch. */
#define OUT_OF_LINE __attribute__((noinline))

OUT_OF_LINE void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
    return fails() ? nullptr : std::malloc(size);
}
OUT_OF_LINE void *operator new[](std::size_t size, const std::nothrow_t &) noexcept
{
    return fails() ? nullptr : std::malloc(size);
}
OUT_OF_LINE void *operator new(std::size_t size)
{
    return std::malloc(size);
}
OUT_OF_LINE void operator delete(void *memory) noexcept
{
    std::free(memory);
}
OUT_OF_LINE void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}
OUT_OF_LINE void operator delete[](void *memory) noexcept
{
    std::free(memory);
}
OUT_OF_LINE void operator delete[](void *memory, std::size_t) noexcept
{
    std::free(memory);
}

#endif
