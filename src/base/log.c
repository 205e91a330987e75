/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See log.h.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static hccl_log_level_t threshold = HCCL_LOG_WARN;
static int my_rank = -1;

void hccl_log_init(hccl_log_level_t level, int rank)
{
    threshold = level;
    my_rank = rank;
}

/* One write per message, so that lines of different ranks do not mix. */
static void say(hccl_log_level_t level, const char *word, const char *format, va_list args)
{
    char host[64] = "?";
    char line[1024];
    if (level > threshold) {
        return;
    }
    gethostname(host, sizeof(host) - 1);
    int head = snprintf(line, sizeof(line), "coll/hccl %s [%s, rank %d]: ", word, host, my_rank);
    vsnprintf(line + head, sizeof(line) - (size_t) head, format, args);
    fprintf(stderr, "%s\n", line);
}

#define SAY(level, word)            \
    va_list args;                   \
    va_start(args, format);         \
    say(level, word, format, args); \
    va_end(args)

void hccl_log_error(const char *format, ...)
{
    SAY(HCCL_LOG_ERROR, "error");
}

void hccl_log_warn(const char *format, ...)
{
    SAY(HCCL_LOG_WARN, "warning");
}

void hccl_log_info(const char *format, ...)
{
    SAY(HCCL_LOG_INFO, "info");
}

void hccl_log_note(const char *format, ...)
{
    SAY(HCCL_LOG_WARN, "info");
}

void hccl_log_fatal(const char *format, ...)
{
    SAY(HCCL_LOG_ERROR, "error");
    abort();
}
