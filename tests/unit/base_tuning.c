/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of measurements: what is written is read back, and nothing else is ever taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tuning.h"

#define KEY "1.0: a processor, caches 1 2 3"

static char dir[64];
static char why[8192];

static int make_dir(void **state)
{
    (void) state;
    snprintf(dir, sizeof(dir), "/tmp/hccl_tuning.XXXXXX");
    return NULL == mkdtemp(dir) ? -1 : 0;
}

static int remove_dir(void **state)
{
    char command[128];
    (void) state;
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

/* How many files are there; the last one's path. */
static int files(char path[512])
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); NULL != e; e = readdir(d)) {
        if ('.' != e->d_name[0]) {
            n++;
            snprintf(path, 512, "%s/%s", dir, e->d_name);
        }
    }
    closedir(d);
    return n;
}

static void store(uint32_t large, uint32_t wide)
{
    hccl_tuning_t t = {large, wide};
    assert_int_equal(HCCL_OK, hccl_tuning_store(dir, KEY, &t, why, sizeof(why)));
}

static void assert_loads(uint32_t large, uint32_t wide)
{
    hccl_tuning_t t = {1, 1};
    assert_int_equal(HCCL_OK, hccl_tuning_load(dir, KEY, &t, why, sizeof(why)));
    assert_int_equal(large, t.slot_large);
    assert_int_equal(wide, t.slot_wide);
}

/* Not taken, the reason has the file's path, and the values stay. */
static void assert_refused(int code, const char *path)
{
    hccl_tuning_t t = {1, 1};
    why[0] = '\0';
    assert_int_equal(code, hccl_tuning_load(dir, KEY, &t, why, sizeof(why)));
    assert_int_equal(1, t.slot_large);
    assert_int_equal(1, t.slot_wide);
    assert_non_null(strstr(why, path));
}

static size_t slurp(const char *path, char text[2048])
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, 2047, f);
    fclose(f);
    text[n] = '\0';
    return n;
}

static void spill(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(n, fwrite(text, 1, n, f));
    fclose(f);
}

/* No more files for this process: that is not the file's fault. */
static void few_files(void **state)
{
    struct rlimit before, none;
    (void) state;
    store(32768, 262144);
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &before));
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &none));
    hccl_tuning_t t = {1, 1};
    int rc = hccl_tuning_load(dir, KEY, &t, why, sizeof(why));
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &before));
    assert_int_equal(HCCL_ERR_NOTSUP, rc);
    assert_loads(32768, 262144);
}

static void is_read_back(void **state)
{
    char path[512];
    (void) state;
    assert_refused(HCCL_ERR_NOTSUP, dir);
    store(32768, 262144);
    assert_loads(32768, 262144);
    store(4096, 64u << 20);
    assert_loads(4096, 64u << 20);
    assert_int_equal(1, files(path));
}

/* A file of a later version is named as such, not as damaged. */
static void other_versions(void **state)
{
    char path[512];
    char text[2048];
    (void) state;
    store(32768, 262144);
    assert_int_equal(1, files(path));
    size_t n = slurp(path, text);
    char *version = strchr(text, '\n') - 1;
    assert_int_equal('1', *version);
    *version = '2';
    spill(path, text, n);
    assert_refused(HCCL_ERR_ARG, path);
    assert_non_null(strstr(why, "of another version"));
}

/* Cut off anywhere, with any byte changed, with something behind. */
static void damage_is_seen(void **state)
{
    char path[512];
    char text[2048], bad[2048];
    (void) state;
    store(32768, 262144);
    assert_int_equal(1, files(path));
    size_t n = slurp(path, text);
    for (size_t i = 0; i < n; i++) {
        spill(path, text, i);
        assert_refused(HCCL_ERR_ARG, path);
        memcpy(bad, text, n);
        bad[i] ^= 1;
        spill(path, bad, n);
        assert_refused(HCCL_ERR_ARG, path);
    }
    memcpy(bad, text, n);
    bad[n] = 'x';
    spill(path, bad, n + 1);
    assert_refused(HCCL_ERR_ARG, path);
    memset(bad, 'x', sizeof(bad));
    spill(path, bad, sizeof(bad));
    assert_refused(HCCL_ERR_ARG, path);
    spill(path, text, n);
    assert_loads(32768, 262144);
}

/* A file that was carried over from another machine has another name and another key in it. */
static void other_keys_are_not_taken(void **state)
{
    char path[512], mine[512];
    char text[2048];
    hccl_tuning_t t = {65536, 65536};
    (void) state;
    store(32768, 262144);
    assert_int_equal(1, files(mine));
    assert_int_equal(0, unlink(mine));
    assert_int_equal(HCCL_OK, hccl_tuning_store(dir, KEY " 4", &t, why, sizeof(why)));
    assert_refused(HCCL_ERR_NOTSUP, dir);
    assert_int_equal(1, files(path));
    size_t n = slurp(path, text);
    spill(mine, text, n);
    assert_refused(HCCL_ERR_ARG, mine);
    assert_int_equal(2, files(path));
}

/* Whole files, with a right sum, whose values no ring can have. */
static void values_are_checked(void **state)
{
    static const hccl_tuning_t bad[] = {{0, 0},
                                        {0, 262144},
                                        {32768, 0},
                                        {4095, 262144},
                                        {(16u << 20) + 1, 262144},
                                        {32768, 4095},
                                        {32768, (64u << 20) + 1},
                                        {UINT32_MAX, UINT32_MAX}};
    char path[512];
    (void) state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        store(bad[i].slot_large, bad[i].slot_wide);
        assert_int_equal(1, files(path));
        assert_refused(HCCL_ERR_ARG, path);
    }
}

/* What is no plain file is neither read nor waited for. */
static void other_kinds_of_files(void **state)
{
    char path[512], target[600];
    (void) state;
    store(32768, 262144);
    assert_int_equal(1, files(path));
    snprintf(target, sizeof(target), "%s.target", path);
    assert_int_equal(0, rename(path, target));
    assert_int_equal(0, symlink(target, path));
    assert_refused(HCCL_ERR_ARG, path);
    assert_int_equal(0, unlink(path));
    assert_int_equal(0, mkfifo(path, 0600));
    assert_refused(HCCL_ERR_ARG, path);
    assert_non_null(strstr(why, "no plain file"));
    assert_int_equal(0, unlink(path));
    assert_int_equal(0, mkdir(path, 0700));
    assert_refused(HCCL_ERR_ARG, path);
    assert_non_null(strstr(why, "no plain file"));
    assert_int_equal(0, rmdir(path));
    assert_int_equal(0, unlink(target));
}

/* Whoever may write to a common directory decides nothing for others. */
static void files_of_other_users(void **state)
{
    char path[512];
    (void) state;
    if (0 != geteuid()) {
        skip();
    }
    store(32768, 262144);
    assert_int_equal(1, files(path));
    assert_int_equal(0, chown(path, 1, (gid_t) -1));
    assert_refused(HCCL_ERR_ARG, path);
    assert_int_equal(0, chown(path, 0, (gid_t) -1));
    assert_loads(32768, 262144);
}

/* Not replaced: a directory of that name, a process that may write none.
 * Nothing is left behind then, and no signal comes. */
static void nothing_is_left_of_a_failure(void **state)
{
    char path[512];
    hccl_tuning_t t = {32768, 262144};
    int status = -1;
    (void) state;
    store(32768, 262144);
    assert_int_equal(1, files(path));
    assert_int_equal(0, unlink(path));
    assert_int_equal(0, mkdir(path, 0700));
    assert_int_equal(HCCL_ERR_SYS, hccl_tuning_store(dir, KEY, &t, why, sizeof(why)));
    assert_non_null(strstr(why, path));
    assert_int_equal(1, files(path));
    assert_int_equal(0, rmdir(path));
    pid_t child = fork();
    if (0 == child) {
        const struct rlimit nothing = {0, 0};
        int failed = setrlimit(RLIMIT_FSIZE, &nothing);
        failed |= HCCL_ERR_SYS != hccl_tuning_store(dir, KEY, &t, why, sizeof(why));
        _exit(failed);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    assert_int_equal(0, files(path));
}

/* A file where the directory should be: root may write to any directory, but not below a file. */
static void places_that_cannot_be_written(void **state)
{
    char path[512], below[600];
    hccl_tuning_t t = {32768, 262144};
    (void) state;
    snprintf(path, sizeof(path), "%s/file", dir);
    spill(path, "x", 1);
    snprintf(below, sizeof(below), "%s/deep/er", path);
    assert_int_equal(HCCL_ERR_SYS, hccl_tuning_store(below, KEY, &t, why, sizeof(why)));
    assert_non_null(strstr(why, below));
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_tuning_load(below, KEY, &t, why, sizeof(why)));
    assert_int_equal(1, files(path));
    /* What is missing above is made. */
    snprintf(below, sizeof(below), "%s/a/b/c", dir);
    assert_int_equal(HCCL_OK, hccl_tuning_store(below, KEY, &t, why, sizeof(why)));
    assert_int_equal(HCCL_OK, hccl_tuning_load(below, KEY, &t, why, sizeof(why)));
}

/* Readers find a whole file at any moment, and nothing is left beside it. */
static void many_write_at_once(void **state)
{
    enum { WRITERS = 4, TIMES = 200 };
    pid_t child[WRITERS];
    char path[512];
    (void) state;
    store(32768, 262144);
    for (uint32_t i = 0; i < WRITERS; i++) {
        child[i] = fork();
        if (0 == child[i]) {
            hccl_tuning_t t = {4096 * (i + 1), 8192 * (i + 1)};
            int failed = 0;
            for (int k = 0; k < TIMES; k++) {
                hccl_tuning_t seen = {0, 0};
                failed |= HCCL_OK != hccl_tuning_store(dir, KEY, &t, why, sizeof(why));
                failed |= HCCL_OK != hccl_tuning_load(dir, KEY, &seen, why, sizeof(why));
                failed |= 2 * seen.slot_large != seen.slot_wide && 32768 != seen.slot_large;
            }
            _exit(failed);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(child[i], waitpid(child[i], &status, 0));
        assert_int_equal(0, status);
    }
    assert_int_equal(1, files(path));
}

static void directories(void **state)
{
    char found[64];
    (void) state;
    assert_int_equal(0, setenv("HOME", "/home/me", 1));
    assert_int_equal(0, setenv("XDG_CACHE_HOME", "/cache", 1));
    assert_int_equal(HCCL_OK, hccl_tuning_dir("given", found, sizeof(found)));
    assert_string_equal("given", found);
    assert_int_equal(HCCL_OK, hccl_tuning_dir("", found, sizeof(found)));
    assert_string_equal("/cache/ompi-mca-coll-hccl", found);
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_tuning_dir("", found, 10));
    /* Not absolute: to be ignored, as the specification of these directories says. */
    assert_int_equal(0, setenv("XDG_CACHE_HOME", "cache", 1));
    assert_int_equal(HCCL_OK, hccl_tuning_dir(NULL, found, sizeof(found)));
    assert_string_equal("/home/me/.cache/ompi-mca-coll-hccl", found);
    assert_int_equal(0, unsetenv("XDG_CACHE_HOME"));
    assert_int_equal(0, unsetenv("HOME"));
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_tuning_dir("", found, sizeof(found)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_read_back, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(few_files, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(other_versions, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(damage_is_seen, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(other_keys_are_not_taken, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(values_are_checked, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(other_kinds_of_files, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(files_of_other_users, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(nothing_is_left_of_a_failure, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(places_that_cannot_be_written, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(many_write_at_once, make_dir, remove_dir),
        cmocka_unit_test(directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
