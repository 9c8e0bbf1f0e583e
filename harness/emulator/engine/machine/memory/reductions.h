// What a reducing bulk copy does to the bytes that it comes to.

#pragma once

#include <string>

#include "machine.h"

namespace machine {

struct BulkReduction {
    const char* name;  // of its operation
    void (*apply)(u8* place, const u8* given, int bytes);
};

const std::vector<BulkReduction>& bulk_reductions();

// By name; null where there is none.
const BulkReduction* reduction_named(const std::string& name);

// Of an operation; null where it copies only.
const BulkReduction* reduction_of(const Op& op);

}  // namespace machine
