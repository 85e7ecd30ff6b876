// What a function throws.
#pragma once

#include <holdfast/error.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace holdfast::test {

// The code of the error that `fn` throws; none if it does not throw.
template <class Fn>
std::error_code code_of(Fn&& fn) {
    try {
        std::forward<Fn>(fn)();
    } catch (const error& e) {
        return e.code();
    }
    return {};
}

// The text of the error that `fn` throws; empty if it does not throw.
template <class Fn>
std::string message_of(Fn&& fn) {
    try {
        std::forward<Fn>(fn)();
    } catch (const error& e) {
        return e.what();
    }
    return {};
}

}  // namespace holdfast::test
