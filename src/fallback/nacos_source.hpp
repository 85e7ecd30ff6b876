// Reads the document of a configuration centre from Nacos, on a thread of its own.
#pragma once

#include "fallback/source.hpp"
#include "io/reactor.hpp"

#include <chrono>
#include <memory>
#include <string_view>

namespace holdfast::fallback {

// While no server answers, the last document counts on: the handler learns only that the source is
// unreadable.
class nacos_source : public source {
  public:
    // Throws holdfast::error (errc::invalid_argument) for a URL that cannot be (nacos/address.hpp), or
    // without libcurl. Blocks until the handler was called for the first time, but no longer than
    // `first_answer`: later answers are learned in the background.
    nacos_source(io::reactor& on, std::string_view url, std::chrono::milliseconds first_answer, handler tell);
    // Does not wait for an answer that is under way.
    ~nacos_source() override;

  private:
    class reader;

    const std::shared_ptr<reader> reader_;
};

}  // namespace holdfast::fallback
