#include "api/counter.hpp"

#include "base/text.hpp"

namespace holdfast::detail {

void raise(const session::client_lock& of, const backend::failure& why) {
    const auto name = "\"" + of.name().printable() + "\"";
    auto sentence = "the count of " + name + " could not be read or changed";
    if (why.code == errc::unknown_outcome)
        sentence = "it is not known whether the count of " + name + " was changed";
    if (why.code == errc::wrong_kind) sentence = "the key " + name + " does not hold a count";
    if (!why.text.empty())
        sentence += " (" + base::printable(why.text) + ")";
    else if (why.code != errc::wrong_kind)
        sentence += ": " + why.code.message();
    throw error(why.code, sentence, why.server_text);
}

}  // namespace holdfast::detail
