// Makes a visitor for a variant out of lambdas.
#pragma once

namespace holdfast::cli {

template <class... F>
struct overloaded : F... {
    using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;  // clang 14 does not deduce it by itself

}  // namespace holdfast::cli
