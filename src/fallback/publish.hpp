// Writes the document that arbiter_source reads.
#pragma once

#include "fallback/arbiter_document.hpp"

#include <chrono>
#include <string>

namespace holdfast::fallback {

// Blocks for a few answers at most. Returns false if this document is there already. Throws holdfast::error:
// errc::invalid_argument with the field for a document that readers would refuse, or whose serial is not
// higher than that of the last one; errc::lost if another writer was faster.
bool publish(io::reactor& on, arbiter_document& to, const std::string& text,
             std::chrono::milliseconds answer_timeout);

}  // namespace holdfast::fallback
