/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Detection: places on machines that hwloc makes up, GID tables in a directory that stands for
 * sysfs, and what can be said of the machine at hand.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "topo/detect.h"

static const hccl_port_choice_t any_port = {.gid_index = -1};
static char why[400];

/* Ids on a made-up machine, for a process that is bound to hardware threads from … to. */
static void assert_place(const char *machine, unsigned from, int to, int package, int numa, int l3,
                         int core)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t binding = hwloc_bitmap_alloc();
    hccl_card_t card;

    assert_int_equal(0, hwloc_topology_init(&topology));
    assert_int_equal(0, hwloc_topology_set_synthetic(topology, machine));
    assert_int_equal(0, hwloc_topology_load(topology));
    hwloc_bitmap_set_range(binding, from, to);
    memset(&card, 0x55, sizeof(card));
    hccl_detect_place(topology, binding, &card);
    if (package != card.package || numa != card.numa || l3 != card.l3 || core != card.core) {
        fail_msg("%s, threads %u to %d: package %d numa %d l3 %d core %d", machine, from, to,
                 (int) card.package, (int) card.numa, (int) card.l3, (int) card.core);
    }
    hwloc_bitmap_free(binding);
    hwloc_topology_destroy(topology);
}

/* 16 cores: 8 to a package, 4 to a NUMA domain, 2 to an L3. Ids are first threads, but for numa. */
static void two_packages(void **state)
{
    (void) state;
    const char *machine = "pack:2 numa:2 l3:2 core:2 pu:1";

    assert_place(machine, 0, 0, 0, 0, 0, 0);
    assert_place(machine, 1, 1, 0, 0, 0, 1);
    assert_place(machine, 7, 7, 0, 1, 6, 7);
    assert_place(machine, 13, 13, 8, 3, 12, 13);
    assert_place(machine, 10, 11, 8, 2, 10, -1);
    assert_place(machine, 8, 11, 8, 2, -1, -1);
    assert_place(machine, 9, 10, 8, 2, -1, -1);
    assert_place(machine, 8, 15, 8, -1, -1, -1);
    assert_place(machine, 7, 8, -1, -1, -1, -1);
    assert_place(machine, 0, 15, -1, -1, -1, -1);
    assert_place(machine, 0, -1, -1, -1, -1, -1); /* to the end of all numbers */
}

static void hardware_threads(void **state)
{
    (void) state;
    assert_place("pack:1 core:2 pu:2", 2, 3, 0, 0, -1, 2);
    assert_place("pack:1 core:2 pu:2", 3, 3, 0, 0, -1, 2);
    assert_place("pack:1 core:2 pu:2", 0, 3, 0, 0, -1, -1);
}

/* Ids of the operating system need not be in hwloc's order: threads dealt to packages in turn. */
static void interleaved_numbers(void **state)
{
    (void) state;
    const char *machine = "pack:2 core:2 pu:1(indexes=0,2,1,3)";

    assert_place(machine, 2, 2, 0, 0, -1, 2);
    assert_place(machine, 1, 1, 1, 0, -1, 1);
    assert_place(machine, 3, 3, 1, 0, -1, 3);
}

static void machine_without_levels(void **state)
{
    (void) state;
    /* hwloc always has one NUMA node for a machine that has none */
    assert_place("pu:4", 1, 1, -1, 0, -1, -1);
    assert_place("core:4 pu:1", 1, 1, -1, 0, -1, 1);
    assert_place("pu:4", 17, 17, -1, -1, -1, -1); /* a thread that the machine has not */
}

/* One L3 around two NUMA domains, as some machines have: both are told. */
static void l3_around_numa(void **state)
{
    (void) state;
    const char *machine = "pack:2 l3:1 numa:2 core:2 pu:1";

    assert_place(machine, 2, 2, 0, 1, 0, 2);
    assert_place(machine, 0, 3, 0, -1, 0, -1);
    assert_place(machine, 6, 6, 4, 3, 4, 6);
}

static void no_binding_known(void **state)
{
    (void) state;
    hwloc_topology_t topology;
    hccl_card_t card;

    assert_int_equal(0, hwloc_topology_init(&topology));
    assert_int_equal(0, hwloc_topology_set_synthetic(topology, "pack:2 core:2 pu:1"));
    assert_int_equal(0, hwloc_topology_load(topology));
    memset(&card, 0x55, sizeof(card));
    hccl_detect_place(topology, NULL, &card);
    assert_int_equal(-1, card.package);
    assert_int_equal(-1, card.numa);
    assert_int_equal(-1, card.l3);
    assert_int_equal(-1, card.core);
    hwloc_topology_destroy(topology);
}

/* The machine at hand: bound to one thread, that thread's package and core hold it. */
static void this_machine(void **state)
{
    (void) state;
    cpu_set_t before;
    cpu_set_t one;
    hccl_card_t bound;
    hccl_card_t again;
    int cpu = 0;

    assert_int_equal(HCCL_ERR_ARG, hccl_detect_card(NULL, &any_port, NULL, why, sizeof(why)));
    assert_int_equal(0, sched_getaffinity(0, sizeof(before), &before));
    while (!CPU_ISSET(cpu, &before)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(0, sched_setaffinity(0, sizeof(one), &one));
    int rc = hccl_detect_card(NULL, &any_port, &bound, why, sizeof(why));
    hwloc_topology_t topology;
    assert_int_equal(0, hwloc_topology_init(&topology));
    assert_int_equal(0, hwloc_topology_load(topology));
    int rc_again = hccl_detect_card(topology, &any_port, &again, why, sizeof(why));
    hwloc_topology_destroy(topology);
    assert_int_equal(0, sched_setaffinity(0, sizeof(before), &before));
    assert_int_equal(HCCL_OK, rc);
    assert_int_equal(HCCL_OK, rc_again);
    assert_true(0 != bound.host_key);
    assert_true(bound.host_key == again.host_key);
    assert_true(bound.core <= cpu && bound.l3 <= cpu && bound.package <= cpu);
    assert_int_equal(bound.package, again.package);
    assert_int_equal(bound.numa, again.numa);
    assert_int_equal(bound.l3, again.l3);
    assert_int_equal(bound.core, again.core);
    print_message("# thread %d: package %d numa %d l3 %d core %d, %d ports\n", cpu,
                  (int) bound.package, (int) bound.numa, (int) bound.l3, (int) bound.core,
                  bound.nports);
}

static void discovery_disabled(void **state)
{
    (void) state;
    hccl_card_t card;

    setenv("HWLOC_COMPONENTS", "stop", 1);
    int rc = hccl_detect_card(NULL, &any_port, &card, why, sizeof(why));
    unsetenv("HWLOC_COMPONENTS");
    assert_int_equal(HCCL_OK, rc);
    assert_true(0 != card.host_key);
    assert_int_equal(-1, card.core);
    assert_int_equal(-1, card.l3);
    assert_int_equal(-1, card.package);
}

/* The host key as a child sees it after unshare(flags) and one more fork; 0 when not allowed. */
static uint64_t key_in_namespaces(int flags, const char *hostname)
{
    int fds[2];
    uint64_t key = 0;

    assert_int_equal(0, pipe(fds));
    pid_t child = fork();
    if (0 == child) {
        if (0 != unshare(flags)
            || (NULL != hostname && 0 != sethostname(hostname, strlen(hostname)))) {
            _exit(1);
        }
        pid_t inner = fork();
        if (0 == inner) {
            key = hccl_detect_host_key();
            _exit((ssize_t) sizeof(key) == write(fds[1], &key, sizeof(key)) ? 0 : 1);
        }
        _exit(inner == waitpid(inner, NULL, 0) ? 0 : 1);
    }
    close(fds[1]);
    ssize_t got = read(fds[0], &key, sizeof(key));
    close(fds[0]);
    waitpid(child, NULL, 0);
    return (ssize_t) sizeof(key) == got ? key : 0;
}

static void host_key_tells_hosts_apart(void **state)
{
    (void) state;
    uint64_t own = hccl_detect_host_key();
    uint64_t other_name = key_in_namespaces(CLONE_NEWUTS, "hccl-host-b");
    /* the emulated hosts of tests/hosts have their own /proc, too: the test of them is there */

    assert_true(0 != own);
    assert_true(own == key_in_namespaces(0, NULL));
    if (0 == other_name) {
        print_message("# namespaces are not allowed here\n");
        skip();
    }
    assert_true(own != other_name);
    assert_true(other_name == key_in_namespaces(CLONE_NEWUTS, "hccl-host-b"));
    /* same name, own PIDs: /proc/self is there in a PID namespace with /proc of its parent */
    assert_true(other_name != key_in_namespaces(CLONE_NEWUTS | CLONE_NEWPID, "hccl-host-b"));
}

/* ---- a directory that stands for /sys --------------------------------------------------------- */

static char sysfs[] = "/tmp/hccl-sysfs-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/class/infiniband/%s", sysfs, name);
    for (char *slash = strchr(path + 1, '/'); NULL != slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(0 == mkdir(path, 0777) || EEXIST == errno);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(0 <= fputs(text, file));
    assert_int_equal(0, fclose(file));
}

#define LOCAL4                                        \
    {                                                 \
        [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 \
    }
#define GLOBAL6                          \
    {                                    \
        0x20, 0x01, 0x0d, 0xb8, [15] = 1 \
    }
#define LINK6                                                            \
    {                                                                    \
        0xfe, 0x80, [8] = 2, [9] = 2, [10] = 0xc9, [11] = 0xff, [15] = 1 \
    }
#define EMPTY \
    {         \
        0     \
    }

static void gid_choice(void **state)
{
    (void) state;
    uint8_t gid[16];
    const uint8_t ipv4[16] = LOCAL4, ipv6[16] = GLOBAL6, link[16] = LINK6, none[16] = EMPTY;
    const hccl_gid_t all[] = {{LINK6, 0, false},  {LINK6, 1, true},   {GLOBAL6, 2, true},
                              {LOCAL4, 3, true},  {LOCAL4, 4, false}, {EMPTY, 5, true},
                              {LOCAL4, 60, true}, {GLOBAL6, 7, true}};
    const hccl_gid_t old_ipv4[] = {
        {LINK6, 0, true}, {EMPTY, 1, true}, {LOCAL4, 2, false}, {GLOBAL6, 30, true}};
    const hccl_gid_t link_alone[] = {{EMPTY, 0, true}, {LINK6, 5, true}};
    const hccl_gid_t old[] = {{LOCAL4, 0, false}, {GLOBAL6, 1, false}};

    assert_int_equal(3, hccl_detect_gid(all, 8, -1, gid));
    assert_memory_equal(ipv4, gid, 16);
    assert_int_equal(30, hccl_detect_gid(old_ipv4, 4, -1, gid));
    assert_memory_equal(ipv6, gid, 16);
    assert_int_equal(5, hccl_detect_gid(link_alone, 2, -1, gid));
    assert_memory_equal(link, gid, 16);
    assert_int_equal(-1, hccl_detect_gid(old, 2, -1, gid));
    assert_memory_equal(none, gid, 16);
    assert_int_equal(-1, hccl_detect_gid(NULL, 0, -1, gid));
}

/* The user's index: of the right type, of another one, empty, in no entry. */
static void gid_by_index(void **state)
{
    (void) state;
    uint8_t gid[16];
    const uint8_t ipv6[16] = GLOBAL6, none[16] = EMPTY;
    const hccl_gid_t all[] = {
        {LOCAL4, 0, false}, {LOCAL4, 1, true}, {GLOBAL6, 20, true}, {EMPTY, 21, true}};

    assert_int_equal(20, hccl_detect_gid(all, 4, 20, gid));
    assert_memory_equal(ipv6, gid, 16);
    assert_int_equal(-1, hccl_detect_gid(all, 4, 0, gid));
    assert_memory_equal(none, gid, 16);
    assert_int_equal(-1, hccl_detect_gid(all, 4, 21, gid));
    assert_int_equal(-1, hccl_detect_gid(all, 4, 2, gid));
}

static void numa_of_devices(void **state)
{
    (void) state;

    write_file("numa0/device/numa_node", "1\n");
    write_file("numa1/device/numa_node", "-1\n");
    write_file("numa2/device/numa_node", "\n");
    write_file("numa3/device/numa_node", "99999\n");
    assert_int_equal(1, hccl_detect_device_numa(sysfs, "numa0"));
    assert_int_equal(-1, hccl_detect_device_numa(sysfs, "numa1"));
    assert_int_equal(-1, hccl_detect_device_numa(sysfs, "numa2"));
    assert_int_equal(-1, hccl_detect_device_numa(sysfs, "numa3"));
    assert_int_equal(-1, hccl_detect_device_numa(sysfs, "numa4"));
}

/* Two packages of two NUMA nodes of two threads: threads 0, 1 in node 0; 2, 3 in node 1; ... */
static void distances(void **state)
{
    (void) state;
    const struct {
        int first, last, numa, expected;
    } cases[] = {
        {0, 0, 0, HCCL_NEAR},          {0, 1, 1, HCCL_SAME_PACKAGE}, {0, 1, 2, HCCL_FAR},
        {0, 1, 3, HCCL_FAR},           {6, 7, 3, HCCL_NEAR},         {6, 7, 2, HCCL_SAME_PACKAGE},
        {0, 7, 2, HCCL_NEAR},          {1, 2, 1, HCCL_NEAR},         {2, 4, 3, HCCL_SAME_PACKAGE},
        {0, 0, -1, HCCL_SAME_PACKAGE}, {0, 0, 9, HCCL_SAME_PACKAGE},
    };
    hwloc_topology_t topology;
    hwloc_bitmap_t binding = hwloc_bitmap_alloc();

    assert_int_equal(0, hwloc_topology_init(&topology));
    assert_int_equal(0, hwloc_topology_set_synthetic(topology, "pack:2 numa:2 pu:2"));
    assert_int_equal(0, hwloc_topology_load(topology));
    assert_int_equal(HCCL_SAME_PACKAGE, hccl_detect_distance(topology, binding, 0));
    assert_int_equal(HCCL_SAME_PACKAGE, hccl_detect_distance(topology, NULL, 0));
    assert_int_equal(HCCL_SAME_PACKAGE, hccl_detect_distance(NULL, binding, 0));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hwloc_bitmap_zero(binding);
        hwloc_bitmap_set_range(binding, (unsigned) cases[i].first, cases[i].last);
        const int found = hccl_detect_distance(topology, binding, cases[i].numa);
        if (found != cases[i].expected) {
            fail_msg("threads %d to %d, NUMA node %d: %d, not %d", cases[i].first, cases[i].last,
                     cases[i].numa, found, cases[i].expected);
        }
    }
    hwloc_bitmap_free(binding);
    hwloc_topology_destroy(topology);
}

static int sysfs_open(void **state)
{
    (void) state;
    return NULL == mkdtemp(sysfs) ? -1 : 0;
}

static int sysfs_close(void **state)
{
    char command[100];

    (void) state;
    snprintf(command, sizeof(command), "rm -r '%s'", sysfs);
    return system(command);
}

/* Writes `text` to dir/name. */
static void put_file(const char *dir, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(0, fclose(file));
}

/* Limits of control groups in a directory that stands for both mounts. */
static void quota_of_groups(void **state)
{
    (void) state;
    char root[] = "/tmp/hccl-quota.XXXXXX";
    char path[256];
    char list[256];

    assert_non_null(mkdtemp(root));
    snprintf(list, sizeof(list), "%s/list", root);
    assert_int_equal(0, hccl_detect_quota(list, root)); /* no such file */
    static const char *const dirs[] = {"job", "job/step", "cpu", "cpu/old"};
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
        assert_int_equal(0, mkdir(path, 0700));
    }
    put_file(root, "list", "0::/job/step\n");
    assert_int_equal(0, hccl_detect_quota(list, root));
    put_file(root, "job/step/cpu.max", "max 100000\n");
    assert_int_equal(0, hccl_detect_quota(list, root));
    put_file(root, "job/cpu.max", "250000 100000\n");
    assert_int_equal(2, hccl_detect_quota(list, root)); /* of the group around it */
    put_file(root, "job/step/cpu.max", "50000 100000\n");
    assert_int_equal(1, hccl_detect_quota(list, root)); /* the lower one, never 0 */
    put_file(root, "list", "7:cpuset:/job\n5:cpuacct,cpu:/old\n0::/nowhere\n");
    assert_int_equal(0, hccl_detect_quota(list, root));
    put_file(root, "cpu/old/cpu.cfs_quota_us", "-1\n");
    put_file(root, "cpu/old/cpu.cfs_period_us", "100000\n");
    assert_int_equal(0, hccl_detect_quota(list, root));
    put_file(root, "cpu/old/cpu.cfs_quota_us", "400000\n");
    assert_int_equal(4, hccl_detect_quota(list, root));
    put_file(root, "list", "nonsense\n:\n");
    assert_int_equal(0, hccl_detect_quota(list, root));
    snprintf(path, sizeof(path), "rm -rf %s", root);
    assert_int_equal(0, system(path));
}

/* The mask of the scheduler: with one processor only, the set is another one. */
static void processors_of_this_process(void **state)
{
    (void) state;
    cpu_set_t before, one;
    hccl_card_t all, bound, again;

    if (0 != sched_getaffinity(0, sizeof(before), &before) || CPU_COUNT(&before) < 2) {
        skip();
    }
    hccl_card_init(&all);
    all.host_key = 77;
    bound = again = all;
    hccl_detect_cpus(&all);
    assert_int_equal(CPU_COUNT(&before), all.cpus.count);
    assert_true(77 == all.cpus.host);
    int first = 0;
    while (!CPU_ISSET(first, &before)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(0, sched_setaffinity(0, sizeof(one), &one));
    hccl_detect_cpus(&bound);
    assert_int_equal(0, sched_setaffinity(0, sizeof(before), &before));
    hccl_detect_cpus(&again);
    assert_int_equal(1, bound.cpus.count);
    assert_true(bound.cpus.set != all.cpus.set);
    assert_true(again.cpus.set == all.cpus.set);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(0 <= fputs(text, file));
    assert_int_equal(0, fclose(file));
}

/* Measurements hold for one kind of processor and one version of this component. */
static void machine_key(void **state)
{
    char path[] = "/tmp/hccl_cpuinfo.XXXXXX";
    char one[640], other[640], short_one[16];
    int fd = mkstemp(path);

    (void) state;
    assert_true(0 <= fd);
    close(fd);
    write_text(path, "processor\t: 0\nmodel name\t: Alpha 1\ncpu MHz\t\t: 1234.5\n"
                     "flags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\nmodel name\t: Beta\n");
    hccl_detect_machine(path, "7.8.9", one, sizeof(one));
    assert_non_null(strstr(one, "7.8.9"));
    assert_non_null(strstr(one, "Alpha 1"));
    assert_non_null(strstr(one, "virtual"));
    assert_null(strstr(one, "Beta"));
    assert_null(strstr(one, "1234"));
    assert_null(strchr(one, '\n'));
    hccl_detect_machine(path, "7.8.9", short_one, sizeof(short_one));
    assert_int_equal(sizeof(short_one) - 1, strlen(short_one));
    hccl_detect_machine(path, "7.8.10", other, sizeof(other));
    assert_string_not_equal(one, other);
    write_text(path, "processor\t: 0\nmodel name\t: Alpha 1\ncpu MHz\t\t: 1400.0\n"
                     "flags\t\t: fpu sse hypervisor\n");
    hccl_detect_machine(path, "7.8.9", other, sizeof(other));
    assert_string_equal(one, other);
    write_text(path, "processor\t: 0\nmodel name\t: Alpha 1\nflags\t\t: fpu sse\n");
    hccl_detect_machine(path, "7.8.9", other, sizeof(other));
    assert_string_not_equal(one, other);
    write_text(path, "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
    hccl_detect_machine(path, "7.8.9", one, sizeof(one));
    assert_non_null(strstr(one, "0xd40"));
    assert_int_equal(0, unlink(path));
    hccl_detect_machine(path, "7.8.9", other, sizeof(other));
    assert_non_null(strstr(other, "7.8.9"));
}

/* Two processors of two cores, or none. */
static void pair_of_processors(void **state)
{
    hwloc_topology_t topology;
    int pair[2] = {-1, -1};

    (void) state;
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_detect_pair(NULL, pair));
    assert_int_equal(0, hwloc_topology_init(&topology));
    assert_int_equal(0, hwloc_topology_load(topology));
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    int rc = hccl_detect_pair(topology, pair);
    assert_int_equal(cores < 2 ? HCCL_ERR_NOTSUP : HCCL_OK, rc);
    if (HCCL_OK == rc) {
        hwloc_bitmap_t mine = hwloc_bitmap_alloc();
        assert_int_equal(0, hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_THREAD));
        assert_true(hwloc_bitmap_isset(mine, (unsigned) pair[0]));
        hwloc_bitmap_free(mine);
        for (int i = 0; i < cores; i++) {
            hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned) i);
            assert_false(hwloc_bitmap_isset(core->cpuset, (unsigned) pair[0])
                         && hwloc_bitmap_isset(core->cpuset, (unsigned) pair[1]));
        }
    }
    hwloc_topology_destroy(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_packages),
        cmocka_unit_test(hardware_threads),
        cmocka_unit_test(interleaved_numbers),
        cmocka_unit_test(machine_without_levels),
        cmocka_unit_test(l3_around_numa),
        cmocka_unit_test(no_binding_known),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(discovery_disabled),
        cmocka_unit_test(host_key_tells_hosts_apart),
        cmocka_unit_test(quota_of_groups),
        cmocka_unit_test(processors_of_this_process),
        cmocka_unit_test(machine_key),
        cmocka_unit_test(pair_of_processors),
        cmocka_unit_test(distances),
        cmocka_unit_test(gid_choice),
        cmocka_unit_test(gid_by_index),
        cmocka_unit_test(numa_of_devices),
    };
    return cmocka_run_group_tests_name("topo_detect", tests, sysfs_open, sysfs_close);
}
