/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See value.h.
 */
#include "base/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a letter behind a number multiplies it by; 0: it is none. */
static size_t factor_of(char letter)
{
    switch (letter) {
    case '\0':
        return 1;
    case 'k':
    case 'K':
        return (size_t) 1 << 10;
    case 'm':
    case 'M':
        return (size_t) 1 << 20;
    case 'g':
    case 'G':
        return (size_t) 1 << 30;
    default:
        return 0;
    }
}

bool hccl_value_is_number(const char *text, size_t most)
{
    char *end;
    /* Neither spaces nor a sign, which strtoull would take. */
    if (0 == isdigit((unsigned char) text[0])) {
        return false;
    }
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 0);
    const size_t factor = factor_of(*end);
    return 0 == errno && 0 != factor && ('\0' == end[0] || '\0' == end[1])
           && number <= most / factor;
}

bool hccl_value_is_switch(const char *text)
{
    static const char *const words[] = {"true",  "t", "enabled",  "yes", "y",
                                        "false", "f", "disabled", "no",  "n"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (0 == strcmp(words[i], text)) {
            return true;
        }
    }
    return '\0' != text[0] && strlen(text) == strspn(text, "0123456789");
}
