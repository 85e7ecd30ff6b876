#include "backends/joint/skew.hpp"

#include "base/text.hpp"

#include <optional>

namespace holdfast::joint_backend {

namespace {

std::string rounded_up(std::chrono::microseconds d) {
    return base::to_text(std::chrono::ceil<std::chrono::milliseconds>(d));
}

}  // namespace

skew skew_between(const readings& first, const readings& second) {
    std::optional<skew> most;
    for (const auto& a : first)
        for (const auto& b : second) {
            const skew now{b.ahead - a.ahead, a.error + b.error};
            if (!most ||
                std::chrono::abs(now.apart) - now.error > std::chrono::abs(most->apart) - most->error)
                most = now;
        }
    return most.value_or(skew{});
}

std::string in_words(const skew& of, const std::string& first, const std::string& second,
                     std::chrono::milliseconds max_skew) {
    const bool second_ahead = of.apart.count() > 0;
    return "the clock of " + (second_ahead ? second : first) + " is " +
           rounded_up(std::chrono::abs(of.apart)) + " ahead of that of " + (second_ahead ? first : second) +
           ", give or take " + rounded_up(of.error) + ", and max_skew is " + base::to_text(max_skew);
}

}  // namespace holdfast::joint_backend
