/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The case of layout.h that is not worth inlining.
 */
#include "exec/layout.h"

bool hccl_locate_neighbours(const hccl_exec_t *x, int base, int first, int count, hccl_run_t *run)
{
    if (base >= HCCL_BASE_TMP) {
        const hccl_cursor_t *c = &x->cursor[0];
        char *area = c->tmp + (size_t) (base - HCCL_BASE_TMP) * x->area_bytes;
        run->ptr = area + x->tmp_offset[first] * x->unit;
        run->units = x->tmp_offset[first + count] - x->tmp_offset[first];
        return true;
    }
    const hccl_view_t *view = hccl_view_of(x, base);
    if (HCCL_VIEW_TABLE != view->kind) {
        return false;
    }
    run->ptr = NULL;
    run->units = 0;
    for (int i = first; i < first + count; i++) {
        int block = hccl_block_of(x->plan, i);
        if (0 == view->len[block]) {
            continue;
        }
        if (0 == run->units) {
            run->ptr = view->addr[block];
        } else if (view->addr[block] != run->ptr + run->units * x->unit) {
            return false;
        }
        run->units += view->len[block];
    }
    return true;
}
