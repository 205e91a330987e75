/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table behind collectives.h.
 */
#include "base/collectives.h"

#define HOLDS(what) HCCL_HOLDS_##what
#define IS_ROOTED true
#define IS_ROOTLESS false
#define IS_REDUCES true
#define IS_MOVES false
#define IS_SHARED_SIZES true
#define IS_PRIVATE_SIZES false

const hccl_coll_info_t hccl_coll_info[HCCL_COLL_COUNT] = {
#define HCCL_COLLECTIVE(ID, name, send, recv, root, reduces, sizes) \
    {#name, HOLDS(send), HOLDS(recv), IS_##root, IS_##reduces, IS_##sizes},
#include "base/collectives.def"
#undef HCCL_COLLECTIVE
};
