/* SPDX-License-Identifier: Apache-2.0 */
/* Lines out of pieces of any size, and the limit of a line. */
#include "serve/line_buffer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#define LINE_MAX_BYTES 1000U

static struct line_buffer buffer;

static int begin(void **state)
{
    (void)state;
    line_buffer_init(&buffer, LINE_MAX_BYTES);
    return 0;
}

static int end(void **state)
{
    (void)state;
    line_buffer_free(&buffer);
    return 0;
}

/* Returns how much of it there was room for. */
static size_t receive(const char *text, size_t length)
{
    size_t size = 0;
    char *room = line_buffer_room(&buffer, &size);

    assert_non_null(room);
    assert_true(size > 0);
    size = length < size ? length : size;
    memcpy(room, text, size);
    line_buffer_add(&buffer, size);
    return size;
}

static void assert_line(const char *wanted)
{
    const char *line;
    size_t length;

    assert_int_equal(line_buffer_next(&buffer, &line, &length), LINE_FOUND);
    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(line, wanted, length);
}

static enum line_result next(void)
{
    const char *line;
    size_t length;

    return line_buffer_next(&buffer, &line, &length);
}

static void lines_in_one_piece(void **state)
{
    (void)state;
    assert_int_equal(next(), LINE_NONE);
    receive("one\n\nthree\nfo", 13);
    assert_line("one");
    assert_line("");
    assert_line("three");
    assert_int_equal(next(), LINE_NONE);
    receive("ur\n", 3);
    assert_line("four");
    assert_int_equal(next(), LINE_NONE);
}

static void line_in_pieces_of_one_byte(void **state)
{
    (void)state;
    for (const char *at = "a line\n"; *at != '\0'; at++) {
        assert_int_equal(next(), LINE_NONE);
        assert_int_equal(receive(at, 1), 1);
    }
    assert_line("a line");
}

/* Fills a line of `length` bytes, as the room allows. */
static enum line_result fill(size_t length, bool newline)
{
    char *text = malloc(length + 1);
    size_t sent = 0, all = length + newline;
    enum line_result result = LINE_NONE;

    memset(text, 'x', length);
    text[length] = '\n';
    while (sent < all && result == LINE_NONE) {
        sent += receive(text + sent, all - sent);
        result = next();
    }
    free(text);
    return result;
}

static void longest_line(void **state)
{
    (void)state;
    assert_int_equal(fill(LINE_MAX_BYTES, true), LINE_FOUND);
    assert_int_equal(fill(LINE_MAX_BYTES, true), LINE_FOUND);
    assert_true(buffer.capacity <= LINE_MAX_BYTES + 1);
}

static void longer_line_is_refused_without_its_newline(void **state)
{
    (void)state;
    assert_int_equal(fill(LINE_MAX_BYTES + 1, false), LINE_TOO_LONG);
    assert_true(buffer.capacity <= LINE_MAX_BYTES + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_in_one_piece, begin, end),
        cmocka_unit_test_setup_teardown(line_in_pieces_of_one_byte, begin, end),
        cmocka_unit_test_setup_teardown(longest_line, begin, end),
        cmocka_unit_test_setup_teardown(longer_line_is_refused_without_its_newline, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
