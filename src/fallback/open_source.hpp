// Opens the source that config::switch_source names.
#pragma once

#include "fallback/arbiter_document.hpp"
#include "fallback/source.hpp"
#include "io/reactor.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::fallback {

// "file:/PATH", "nacos://..." (nacos/address.hpp) or "arbiter:..." (arbiter_document.hpp). Both throw
// holdfast::error (errc::invalid_argument), without a part of the URL, which may be a password, in the text.
void check_source(std::string_view url);
// How to name it in a sentence, without a password.
[[nodiscard]] std::string name_of_source(std::string_view url);
// What config::switch_source of `of_client` names. Waits for a first answer from the network, for
// config::answer_timeout at most. `open` opens the store of an arbiter.
[[nodiscard]] std::unique_ptr<source> open_source(io::reactor& on, const config& of_client, store_opener open,
                                                  source::handler tell);

}  // namespace holdfast::fallback
