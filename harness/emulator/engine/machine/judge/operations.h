// What the judge knows of each operation: when it is to be judged, and what its results depend on.

#pragma once

#include <map>
#include <string>

#include "uninitialised.h"

namespace machine {

inline Flow flow_of(const std::string& name) {
    const auto begins = [&](const char* with) { return name.rfind(with, 0) == 0; };
    if (begins("mov/") || begins("extend/") || begins("low/")) return MOVED;
    if (begins("and/")) return BY_AND;
    if (begins("or/")) return BY_OR;
    if (begins("selp/")) return SELECTED;
    if (begins("more operands")) return GATHERED;
    return COMPUTED;
}

// Of the operands of `and` and `or`.
inline int bytes_of_operands(const std::string& name) {
    return name.find("64") != std::string::npos ? 8 : name.find("16") != std::string::npos ? 2 : 4;
}

struct Known {  // of an operation
    Role role;
    Handler handler;
    Flow flow;
    int bytes;
    i32 family;  // of warp-wide instructions that wait for each other
};

inline const std::vector<Known>& known() {
    static const std::vector<Known> all = [] {
        std::vector<Known> out;
        std::map<std::string, i32> families;
        for (const Entry& entry : entries()) {
            const std::string name = entry.name, family = name.substr(0, name.find('.'));
            const i32 number = families.emplace(family, families.size()).first->second;
            out.push_back({entry.role, entry.handler, flow_of(name), bytes_of_operands(name), number});
        }
        return out;
    }();
    return all;
}

}  // namespace machine
