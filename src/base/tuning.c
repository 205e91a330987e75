/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See tuning.h. One file per key: machines that share a home directory do not disturb each other.
 * Its name has a hash of the key, and the key itself stands in it, so nothing that was measured on
 * another machine, kernel or version is ever taken.
 */
#include "base/tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "ompi-mca-coll-hccl"
#define HEADING "ompi-mca-coll-hccl probe 1"
#define FILE_BYTES 1024 /* no file is as long */

bool hccl_tuning_is_known(const hccl_tuning_t *t)
{
    return t->slot_large >= HCCL_SLOT_LARGE_LEAST && t->slot_large <= HCCL_SLOT_LARGE_MOST
           && t->slot_wide >= HCCL_SLOT_WIDE_LEAST && t->slot_wide <= HCCL_SLOT_WIDE_MOST;
}

static bool is_absolute(const char *path)
{
    return NULL != path && '/' == path[0];
}

int hccl_tuning_dir(const char *given, char *dir, size_t len)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n;
    if (NULL != given && '\0' != given[0]) {
        n = snprintf(dir, len, "%s", given);
    } else if (is_absolute(xdg)) {
        n = snprintf(dir, len, "%s/" FOLDER, xdg);
    } else if (is_absolute(home)) {
        n = snprintf(dir, len, "%s/.cache/" FOLDER, home);
    } else {
        return HCCL_ERR_NOTSUP;
    }
    return n > 0 && (size_t) n < len ? HCCL_OK : HCCL_ERR_NOTSUP;
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; '\0' != *text; text++) {
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* The whole file but its last line, which has the hash of the rest. */
static int compose(const char *key, const hccl_tuning_t *t, char *text, size_t len)
{
    int n = snprintf(text, len, HEADING "\n%s\nslot_large %" PRIu32 " slot_wide %" PRIu32 "\n", key,
                     t->slot_large, t->slot_wide);
    return n > 0 && (size_t) n < len ? n : -1;
}

static int path_of(const char *dir, const char *key, char *path, size_t len)
{
    int n = snprintf(path, len, "%s/probe-%016" PRIx64, dir, hash_of(key));
    return n > 0 && (size_t) n < len ? HCCL_OK : HCCL_ERR_ARG;
}

/* The file's text; what is no plain file of this user is not read. */
static int read_file(const char *path, char text[FILE_BYTES], const char **fault)
{
    struct stat info;
    /* O_NONBLOCK: a pipe of that name must not stop the job. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        *fault = "it cannot be opened";
        /* Nothing there, or no more files or memory for this process: no fault of the file. */
        bool blameless = ENOENT == errno || ENOTDIR == errno || EMFILE == errno || ENFILE == errno
                         || ENOMEM == errno;
        return blameless ? HCCL_ERR_NOTSUP : HCCL_ERR_ARG;
    }
    ssize_t got = -1;
    *fault = "it is no plain file of this user";
    if (0 == fstat(fd, &info) && S_ISREG(info.st_mode) && geteuid() == info.st_uid) {
        got = read(fd, text, FILE_BYTES);
        *fault = "it cannot be read";
    }
    close(fd);
    if (got < 0 || FILE_BYTES == got) {
        return HCCL_ERR_ARG;
    }
    text[got] = '\0';
    return HCCL_OK;
}

/* Takes values from a text that must be exactly what would be written with them. */
static const char *parse(const char *text, const char *key, hccl_tuning_t *t)
{
    char expected[FILE_BYTES];
    char sum[32];
    const char *values = strstr(text, "\nslot_large ");
    hccl_tuning_t found;
    if (0 != strncmp(text, HEADING "\n", strlen(HEADING "\n")) || NULL == values
        || 2
               != sscanf(values, "\nslot_large %" SCNu32 " slot_wide %" SCNu32, &found.slot_large,
                         &found.slot_wide)) {
        return "it is damaged, or of another version";
    }
    int n = compose(key, &found, expected, sizeof(expected));
    if (n < 0 || 0 != strncmp(text, expected, (size_t) n)) {
        return "it is of another machine, or damaged";
    }
    snprintf(sum, sizeof(sum), "sum %016" PRIx64 "\n", hash_of(expected));
    if (0 != strcmp(text + n, sum)) {
        return "it is damaged";
    }
    if (!hccl_tuning_is_known(&found)) {
        return "its values are out of range";
    }
    *t = found;
    return NULL;
}

int hccl_tuning_load(const char *dir, const char *key, hccl_tuning_t *tuning, char *why,
                     size_t whylen)
{
    char path[PATH_MAX];
    char text[FILE_BYTES];
    const char *fault = "its name is too long";
    int rc = path_of(dir, key, path, sizeof(path));
    if (HCCL_OK == rc) {
        rc = read_file(path, text, &fault);
    }
    if (HCCL_OK == rc) {
        fault = parse(text, key, tuning);
        rc = NULL == fault ? HCCL_OK : HCCL_ERR_ARG;
    }
    if (HCCL_OK != rc) {
        snprintf(why, whylen, "%s: %s", path, fault);
    }
    return rc;
}

/* The directory and what is missing above it. */
static bool make_dir(const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", dir);
    for (char *at = strchr(path + 1, '/'); NULL != at; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (0 != mkdir(path, 0700) && EEXIST != errno && EROFS != errno && EACCES != errno) {
            return false;
        }
        *at = '/';
    }
    return 0 == mkdir(path, 0700) || EEXIST == errno;
}

/* Writing beyond RLIMIT_FSIZE would end the process by a signal. */
static bool may_write(void)
{
    struct rlimit limit;
    return 0 == getrlimit(RLIMIT_FSIZE, &limit)
           && (RLIM_INFINITY == limit.rlim_cur || limit.rlim_cur >= FILE_BYTES);
}

int hccl_tuning_store(const char *dir, const char *key, const hccl_tuning_t *tuning, char *why,
                      size_t whylen)
{
    char path[PATH_MAX];
    char temporary[PATH_MAX + 8];
    char text[FILE_BYTES];
    int n = compose(key, tuning, text, sizeof(text) - 32);
    if (n < 0 || HCCL_OK != path_of(dir, key, path, sizeof(path))) {
        snprintf(why, whylen, "key or path is too long");
        return HCCL_ERR_SYS;
    }
    n += snprintf(text + n, sizeof(text) - (size_t) n, "sum %016" PRIx64 "\n", hash_of(text));
    snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    int fd = may_write() && make_dir(dir) ? mkostemp(temporary, O_CLOEXEC) : -1;
    if (fd < 0) {
        snprintf(why, whylen, "%s cannot be written to", dir);
        return HCCL_ERR_SYS;
    }
    bool written = n == write(fd, text, (size_t) n);
    written = 0 == close(fd) && written;
    if (!written || 0 != rename(temporary, path)) {
        unlink(temporary);
        snprintf(why, whylen, "%s cannot be written", path);
        return HCCL_ERR_SYS;
    }
    return HCCL_OK;
}
