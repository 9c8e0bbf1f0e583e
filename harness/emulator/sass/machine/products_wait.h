// Warps that wait for the products of their warpgroup.

#pragma once

#include "races/judge.h"

namespace sass {

// A product is one operation by four warps, which is over when all of them have issued it.
inline bool products_done(const Context& c, Block& block, const Warp& warp, i64 newest) {
    const i64 wanted = warp.products - newest;
    for (const Warp& other : block.warps)
        if (other.number / WARPS_OF_GROUP == warp.number / WARPS_OF_GROUP && other.products < wanted &&
            other.exited != other.threads)
            return false;
    if (c.judge) c.judge->wait_for_products(block, warp, wanted);
    return true;
}

inline void look_at_products(const Context& c, Block& block) {
    for (Warp& warp : block.warps)
        for (Part& part : warp.parts) {
            if (part.state != AT_PRODUCTS) continue;
            if (!products_done(c, block, warp, c.launch->instructions[part.at].immediate)) continue;
            part.at++;
            part.state = READY;
            block.idle = false;
        }
}

}  // namespace sass
