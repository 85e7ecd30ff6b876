// A visitor of a variant, made of lambdas.
#pragma once

namespace holdfast::cli {

template <class... F>
struct overloaded : F... {
    using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;  // clang 14 does not find it by itself

}  // namespace holdfast::cli
