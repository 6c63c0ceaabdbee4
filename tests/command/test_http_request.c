/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes are a request for the page of metrics of `uvzk serve`. */
#include "serve/http_request.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

/* Reads so many bytes of the text, without a NUL behind them. */
static enum http_status read_bytes(const char *text, size_t length)
{
    char *copy = malloc(length + 1);

    memcpy(copy, text, length);
    char *exact = realloc(copy, length == 0 ? 1 : length);
    enum http_status status = http_request_read(exact, length, "/metrics");
    free(exact);
    return status;
}

static enum http_status read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static void the_page(void **state)
{
    (void)state;
    assert_int_equal(read_text("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), HTTP_OK);
    assert_int_equal(read_text("GET /metrics HTTP/1.0\r\n\r\n"), HTTP_OK);
    assert_int_equal(read_text("GET /metrics HTTP/1.1\n\n"), HTTP_OK);
    assert_int_equal(read_text("GET /metrics?a=b&c HTTP/1.1\r\n\r\n"), HTTP_OK);
    assert_int_equal(read_text("GET /metrics HTTP/1.1\r\n\r\nmore"), HTTP_OK);
}

/* Whatever is missing at the end. */
static void unfinished_requests(void **state)
{
    static const char text[] = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    (void)state;

    for (size_t length = 0; length < strlen(text); length++) {
        assert_int_equal(read_bytes(text, length), HTTP_UNFINISHED);
    }
    assert_int_equal(read_text("nonsense"), HTTP_UNFINISHED);
    assert_int_equal(read_text("\r\n"), HTTP_UNFINISHED);
}

static void other_pages(void **state)
{
    (void)state;
    assert_int_equal(read_text("GET / HTTP/1.1\r\n\r\n"), HTTP_NOT_FOUND);
    assert_int_equal(read_text("GET /metrics/ HTTP/1.1\r\n\r\n"), HTTP_NOT_FOUND);
    assert_int_equal(read_text("GET /metric HTTP/1.1\r\n\r\n"), HTTP_NOT_FOUND);
    assert_int_equal(read_text("GET ?/metrics HTTP/1.1\r\n\r\n"), HTTP_NOT_FOUND);
    assert_int_equal(read_text("POST /a HTTP/1.1\r\n\r\n"), HTTP_NOT_FOUND);
}

static void other_methods(void **state)
{
    (void)state;
    assert_int_equal(read_text("POST /metrics HTTP/1.1\r\n\r\n"), HTTP_NOT_ALLOWED);
    assert_int_equal(read_text("HEAD /metrics HTTP/1.1\r\n\r\n"), HTTP_NOT_ALLOWED);
    assert_int_equal(read_text("get /metrics HTTP/1.1\r\n\r\n"), HTTP_NOT_ALLOWED);
}

static void what_is_no_request(void **state)
{
    static const char *const texts[] = {
        "\n\n",
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /metrics\r\n\r\n",
        "GET  /metrics HTTP/1.1\r\n\r\n",
        " GET /metrics HTTP/1.1\r\n\r\n",
        "GET /metrics HTTP/1.1 \r\n\r\n",
        "GET /metrics HTTP/1.1 more\r\n\r\n",
        "GET /metrics HTTP/2.0\r\n\r\n",
        "GET /metrics HTTP/1.x\r\n\r\n",
        "GET /metrics HTTP/1.\r\n\r\n",
        "GET /metrics HTTP/1.11\r\n\r\n",
        "GET /metr\tics HTTP/1.1\r\n\r\n",
        "GET /metrics\xff HTTP/1.1\r\n\r\n",
        "GET /metrics\rHTTP/1.1\r\n\r\n",
        "{\"id\":1,\"op\":\"metrics\"}\n\n",
    };
    (void)state;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (read_text(texts[i]) != HTTP_BAD_REQUEST) {
            fail_msg("%s: %d", texts[i], (int)read_text(texts[i]));
        }
    }
    assert_int_equal(read_bytes("GET /me\0rics HTTP/1.1\n\n", 24), HTTP_BAD_REQUEST);
}

static void texts_of_statuses(void **state)
{
    (void)state;
    assert_string_equal(http_status_text(HTTP_OK), "OK");
    assert_string_equal(http_status_text(HTTP_BAD_REQUEST), "Bad Request");
    assert_string_equal(http_status_text(HTTP_NOT_FOUND), "Not Found");
    assert_string_equal(http_status_text(HTTP_NO_MEMORY), "Internal Server Error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page),           cmocka_unit_test(unfinished_requests),
        cmocka_unit_test(other_pages),        cmocka_unit_test(other_methods),
        cmocka_unit_test(what_is_no_request), cmocka_unit_test(texts_of_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
