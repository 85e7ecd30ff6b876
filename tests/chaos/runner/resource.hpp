// The resource that fenced locks guard. It remembers the newest fence it has seen and refuses older ones.
// It is in memory that all processes share, so the check and the write are one step.
#pragma once

#include <cstdint>
#include <filesystem>

namespace holdfast::chaos {

class resource {
  public:
    static constexpr std::size_t most_locks = 64;

    // Makes the file if it is not there.
    explicit resource(const std::filesystem::path& file);
    resource(const resource&) = delete;
    resource& operator=(const resource&) = delete;
    ~resource();

    // False: it has seen a newer fence.
    [[nodiscard]] bool write(std::size_t lock, std::uint64_t fence) noexcept;

  private:
    void* mapped_;
};

}  // namespace holdfast::chaos
