#include "support/zookeeper_losses.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {

namespace {

constexpr std::size_t header = 4;

std::int32_t number(std::string_view bytes, std::size_t at = 0) {
    std::uint32_t n = 0;
    for (const char c : bytes.substr(at, sizeof n)) n = (n << 8U) | static_cast<unsigned char>(c);
    return static_cast<std::int32_t>(n);
}

// Removes a whole frame from the front, with its length; empty: more bytes are needed.
std::string next_frame(std::string& from) {
    if (from.size() < header) return {};
    const auto size = header + static_cast<std::size_t>(number(from));
    if (from.size() < size) return {};
    auto frame = from.substr(0, size);
    from.erase(0, size);
    return frame;
}

}  // namespace

class zookeeper_losses::connection final : public wire::tap {
  public:
    explicit connection(zookeeper_losses& rules) : rules_(rules) {}

    void from_client(std::string_view bytes) override {
        requests_ += bytes;
        for (auto frame = next_frame(requests_); !frame.empty(); frame = next_frame(requests_)) {
            const bool is_login = !std::exchange(login_sent_, true);
            if (is_login || frame.size() < 3 * header) continue;
            if (!lost_ && rules_.is_meant(number(frame, 2 * header), frame)) lost_ = number(frame, header);
        }
    }
    bool from_server(std::string_view bytes, std::string& pass) override {
        answers_ += bytes;
        for (auto frame = next_frame(answers_); !frame.empty(); frame = next_frame(answers_)) {
            const bool is_login = !std::exchange(login_answered_, true);
            if (!is_login && lost_ && number(frame, header) == *lost_) {
                const std::lock_guard hold{rules_.mutex_};
                ++rules_.lost_;
                return false;
            }
            pass += frame;
        }
        return true;
    }

  private:
    zookeeper_losses& rules_;
    std::string requests_, answers_;  // not yet whole frames
    bool login_sent_ = false;
    bool login_answered_ = false;
    std::optional<std::int32_t> lost_;  // the number of the request whose answer is lost
};

void zookeeper_losses::lose_answer_of(std::int32_t type, int nth, const std::string& containing) {
    const std::lock_guard hold{mutex_};
    containing_ = containing;
    type_ = type;
    nth_ = nth;
}

std::size_t zookeeper_losses::lost() const {
    const std::lock_guard hold{mutex_};
    return lost_;
}

std::function<std::unique_ptr<wire::tap>()> zookeeper_losses::taps() {
    return [this] { return std::make_unique<connection>(*this); };
}

bool zookeeper_losses::is_meant(std::int32_t type, std::string_view request) {
    const std::lock_guard hold{mutex_};
    const bool meant = nth_ > 0 && type == type_ && request.find(containing_) != std::string_view::npos;
    return meant && --nth_ == 0;
}

}  // namespace holdfast::test
