/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of docs/options.md from the library's own table. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/option_table.h"

static void print_words(const struct uvzk__option *option)
{
    for (size_t i = 0; option->words[i] != NULL; i++) {
        printf("%s`%s`", i == 0 ? "" : ", ", option->words[i]);
    }
}

static void print_values(const struct uvzk__option *option)
{
    const char *unit = option->unit == NULL ? "" : option->unit;

    switch (option->kind) {
    case UVZK__OPTION_NUMBER:
        printf("%" PRIu64 " to %" PRIu64 "%s%s", option->least, option->most,
               unit[0] == '\0' ? "" : " ", unit);
        break;
    case UVZK__OPTION_FLAG:
        printf("0 or 1");
        break;
    case UVZK__OPTION_WORD:
    case UVZK__OPTION_ACL:
        print_words(option);
        break;
    case UVZK__OPTION_TEXT:
        printf("text");
        break;
    case UVZK__OPTION_BYTES:
        printf("text, up to %" PRIu64 " bytes", option->most);
        break;
    }
}

static void print_default(const struct uvzk__option *option)
{
    if (option->usual != NULL) {
        printf("%s", option->usual);
    } else {
        printf("%" PRIu64, option->initial);
    }
}

int main(void)
{
    printf("| name | values | default | meaning | field |\n");
    printf("| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < uvzk__option_count(); i++) {
        const struct uvzk__option *option = uvzk__option_at(i);
        printf("| `%s` | ", option->name);
        print_values(option);
        printf(" | ");
        print_default(option);
        printf(" | %s | `%s` |\n", option->meaning, option->field);
    }
    return 0;
}
