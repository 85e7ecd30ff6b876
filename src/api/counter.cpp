#include "api/counter.hpp"

namespace holdfast::detail {

void raise(const session::cell& of, const backend::failure& why) {
    const auto name = "\"" + of.name().printable() + "\"";
    auto sentence = "the store did not change or tell the count of " + name;
    if (why.code == errc::unknown_outcome)
        sentence = "it is not known whether the count of " + name + " was changed";
    if (why.code == errc::wrong_kind) sentence = "the key " + name + " holds something else than a count";
    throw error(why.code, sentence, why.text);
}

}  // namespace holdfast::detail
