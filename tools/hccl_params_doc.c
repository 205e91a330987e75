/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints docs/parameters.md from the lists that the component itself expands (params.def,
 * collectives.def). `make params-doc` writes the file; the lint layer compares.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/collectives.h"

typedef enum { TYPE_INT, TYPE_SIZE, TYPE_BOOL, TYPE_TEXT } type_t;

typedef struct param {
    const char *name;
    type_t type;
    size_t number;     /* the default of INT, SIZE and BOOL */
    const char *words; /* the default of TEXT */
    size_t minimum, maximum;
    bool same;
    const char *text;
} param_t;

/* The default of each type as its number and its words. */
#define NUMBER_INT(value) (size_t)(value)
#define NUMBER_SIZE(value) (value)
#define NUMBER_BOOL(value) (value)
#define NUMBER_TEXT(value) 0
#define WORDS_INT(value) NULL
#define WORDS_SIZE(value) NULL
#define WORDS_BOOL(value) NULL
#define WORDS_TEXT(value) (value)
#define IS_SAME true
#define IS_OWN false

static const param_t params[] = {
#define HCCL_PARAM(name, type, value, minimum, maximum, same, text)                       \
    {#name,     TYPE_##type, NUMBER_##type(value), WORDS_##type(value), minimum, maximum, \
     IS_##same, text},
#include "base/params.def"
#undef HCCL_PARAM
};

static const char *const type_names[] = {"number", "size", "switch", "text"};

/* Text in a cell of a table, which a bar would end. */
static void print_text(const char *text)
{
    for (; '\0' != *text; text++) {
        if ('|' == *text) {
            putchar('\\');
        }
        putchar(*text);
    }
}

static void print_size(size_t bytes)
{
    static const char units[] = {'k', 'm', 'g'};
    int unit = -1;
    while (unit < 2 && bytes >= 1024 && 0 == bytes % 1024) {
        bytes /= 1024;
        unit++;
    }
    printf("%zu", bytes);
    if (unit >= 0) {
        putchar(units[unit]);
    }
}

static void print_number(type_t type, size_t number)
{
    if (TYPE_SIZE == type) {
        print_size(number);
    } else if (TYPE_BOOL == type) {
        fputs(0 == number ? "false" : "true", stdout);
    } else {
        printf("%zu", number);
    }
}

static void print_param(const param_t *p)
{
    printf("| `coll_hccl_%s` | %s | ", p->name, type_names[p->type]);
    if (TYPE_TEXT != p->type) {
        print_number(p->type, p->number);
    } else if ('\0' == p->words[0]) {
        fputs("(empty)", stdout);
    } else {
        print_text(p->words);
    }
    fputs(" | ", stdout);
    if (p->minimum < p->maximum) {
        print_number(p->type, p->minimum);
        fputs(" to ", stdout);
        print_number(p->type, p->maximum);
    } else {
        fputs(TYPE_BOOL == p->type ? "true, false" : "-", stdout);
    }
    printf(" | %s | ", p->same ? "yes" : "no");
    print_text(p->text);
    fputs(" |\n", stdout);
}

int main(int argc, char **argv)
{
    (void) argv;
    if (argc > 1) {
        fputs("usage: hccl_params_doc   (prints docs/parameters.md)\n", stderr);
        return 2;
    }
    fputs("# Parameters\n\n"
          "Written by `make params-doc` from `src/base/params.def`, `collectives.def` and\n"
          "`environment.def`. Change those, not this.\n\n"
          "All are MCA parameters: `mpirun --mca NAME VALUE`, or `OMPI_MCA_NAME=VALUE` in the\n"
          "environment. A *size* is a number of bytes; k, m and g may follow. *Same*: all ranks "
          "must have\nthe same value.\n\n"
          "| name | type | default | range | same | meaning |\n|---|---|---|---|---|---|\n",
          stdout);
    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        print_param(&params[i]);
    }
    fputs("| `coll_hccl_COLLECTIVE` | switch | true | true, false | yes | Serve the collective, in "
          "all its forms |\n"
          "| `coll_hccl_COLLECTIVE_algorithm` | text | auto | auto, or a name | yes | "
          "Algorithm wherever it fits |\n\n"
          "COLLECTIVE is one of",
          stdout);
    for (int coll = 0; coll < HCCL_COLL_COUNT; coll++) {
        printf("%s%s%s", 0 == coll ? "" : ",", 0 == coll % 6 ? "\n" : " ",
               hccl_coll_info[coll].name);
    }
    fputs(".\n\nThese environment variables stand for a parameter that is not given otherwise:\n\n"
          "| variable | parameter |\n|---|---|\n",
          stdout);
#define HCCL_ENVIRONMENT(variable, parameter) \
    puts("| `" #variable "` | `coll_hccl_" #parameter "` |");
#include "base/environment.def"
#undef HCCL_ENVIRONMENT
    fputs("\n[algorithms.md](algorithms.md) lists the algorithms of each.\n", stdout);
    return 0 != ferror(stdout) || 0 != fflush(stdout) ? 1 : 0;
}
