// Reads the document of a configuration centre from an arbiter, every few seconds.
#pragma once

#include "fallback/arbiter_document.hpp"
#include "fallback/source.hpp"

#include <chrono>
#include <memory>

namespace holdfast::fallback {

// Registers tell nothing, so they are asked. While the arbiter does not answer, the last document counts on.
class arbiter_source : public source {
  public:
    // Blocks until the handler was called for the first time, but no longer than `first_answer`. Throws as
    // arbiter_document.
    arbiter_source(io::reactor& on, std::unique_ptr<arbiter_document> from,
                   std::chrono::milliseconds first_answer, std::chrono::milliseconds answer_timeout,
                   std::chrono::milliseconds every, handler tell);
    ~arbiter_source() override;

  private:
    class reader;

    std::unique_ptr<arbiter_document> from_;
    std::shared_ptr<reader> reader_;
};

}  // namespace holdfast::fallback
