#include "session/tenancy.hpp"

namespace holdfast::session {

namespace {

std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

struct presence {
    std::shared_ptr<thread_mark> mark = std::make_shared<thread_mark>(next_serial());
    presence() = default;
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence() { mark->alive.store(false, std::memory_order_release); }
};

}  // namespace

const std::shared_ptr<thread_mark>& this_thread() {
    thread_local const presence here;
    return here.mark;
}

}  // namespace holdfast::session
