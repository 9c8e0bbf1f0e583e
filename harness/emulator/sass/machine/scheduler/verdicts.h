// The verdict on a launch that ends with a fault.

#pragma once

#include "races/judge.h"

namespace sass {

inline void accused(const machine::Accusation& found, const Judge* judge, Context& c, Verdict& verdict) {
    verdict.outcome = FAULTY;
    verdict.fault = ACCUSED;
    verdict.instruction = found.site;
    const bool by_judge = judge && found.first_block >= 0;
    verdict.block = by_judge ? judge->block_of(found) : c.block->number;
    verdict.thread = by_judge ? judge->thread_of(found) : found.lane;
    verdict.address = found.what;
    c.details = found.details;
}

inline void faulted(const Fault& fault, const Context& c, Verdict& verdict) {
    verdict.outcome = FAULTY;
    verdict.fault = fault.kind;
    verdict.instruction = c.at;
    verdict.block = c.block ? c.block->number : 0;
    verdict.thread = (c.warp ? c.warp->number * LANES : 0) + fault.lane;
    verdict.address = fault.address;
}

}  // namespace sass
