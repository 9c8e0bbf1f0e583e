// Calls a host function whose parameters are only known to the compiler.
//
// Compiled after the user's file (harness/compiler/functions/host.py). The arguments arrive in
// slots of eight bytes; the kind of each is taken from the function's own type, so a wrong number
// of arguments, or a number in place of a pointer, is found before the call.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <type_traits>
#include <utility>

namespace harness_host {

union Slot {
    void* pointer;
    long long integer;
    double number;
};

// "p": a pointer; "s": the stream; "i4", "u8", "f4" …: a number and its bytes; "?": none of these.
template <typename T>
std::string kind() {
    if (std::is_same<T, cudaStream_t>::value) return "s";
    if (std::is_pointer<T>::value) return "p";
    const std::string bytes = std::to_string(sizeof(T));
    if (std::is_floating_point<T>::value) return "f" + bytes;
    if (std::is_integral<T>::value) return (std::is_signed<T>::value ? "i" : "u") + bytes;
    return "?";
}

template <typename T>
T taken(const Slot& slot) {
    if constexpr (std::is_pointer<T>::value) {
        return static_cast<T>(slot.pointer);
    } else if constexpr (std::is_floating_point<T>::value) {
        return static_cast<T>(slot.number);
    } else if constexpr (std::is_integral<T>::value) {
        return static_cast<T>(slot.integer);
    } else {
        return T();  // kind() is "?", and nothing is called
    }
}

template <typename R, typename... Parameters>
std::string signature(R (*)(Parameters...)) {
    static_assert(std::is_convertible<R, int>::value || std::is_enum<R>::value,
                  "a host function returns int, or cudaError_t: 0 means success");
    std::string text;
    for (const std::string& each : {kind<Parameters>()..., std::string()}) text += each + " ";
    return text;
}

// The message for the value that a function of type cudaError_t returns; empty for a function of
// type int.
template <typename R, typename... Parameters>
const char* words(R (*)(Parameters...), int code) {
    if constexpr (std::is_same<R, cudaError_t>::value) {
        return cudaGetErrorString(static_cast<cudaError_t>(code));
    } else {
        return "";
    }
}

template <typename R, typename... Parameters, std::size_t... I>
int call(R (*function)(Parameters...), const Slot* slots, std::index_sequence<I...>) {
    return static_cast<int>(function(taken<Parameters>(slots[I])...));
}

template <typename R, typename... Parameters>
int call(R (*function)(Parameters...), const Slot* slots) {
    return call(function, slots, std::index_sequence_for<Parameters...>());
}

}  // namespace harness_host
