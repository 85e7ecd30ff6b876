#include "cli/lab/texts.hpp"

#include "lab/play/protocol.hpp"

#include <chrono>

namespace holdfast::lab {

std::string_view role_of(role as) {
    switch (as) {
        case role::flawed: return "the flaw";
        case role::cure: return "the cure, on the same schedule";
        case role::ours: return "holdfast, on the same schedule";
        case role::joint: return "holdfast with two stores, on the same schedule";
        case role::any: return "on this schedule";
    }
    return {};
}

verdict verdict_of(const schedule& played, const outcome& seen) {
    if (seen.as == role::any) {
        if (!seen.broken.empty()) return {"Cannot be played so:", seen.broken, false};
        return {seen.flaw_seen ? "The flaw is seen." : "The flaw is not seen.", {}, !seen.flaw_seen};
    }
    if (!seen.broken.empty()) return {"NOT AS PREDICTED:", seen.broken, false};
    if (!seen.as_predicted()) {
        if (seen.as == role::flawed) return {"NOT AS PREDICTED: flaw not seen.", {}, false};
        return {"NOT AS PREDICTED:",
                seen.flaw_seen ? "the flaw was seen here too. Please report it."
                               : "two believed they held the lock. Please report it.",
                false};
    }
    switch (seen.as) {
        case role::flawed: return {"Flaw seen.", played.why, false};
        case role::cure: return {"Cured.", played.why_cured, true};
        case role::ours: return {"Not here.", played.why_ours, true};
        case role::joint: return {"Not here.", played.why_joint, true};
        case role::any: break;
    }
    return {};
}

std::string_view meaning_of(std::string_view stop) {
    if (stop == point::in_cs) return "has the lock: ";
    if (stop == point::nested) return "has the lock twice: ";
    if (stop == point::before_retry) return "is refused: ";
    return {};
}

std::string milliseconds_of(instant t) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(t).count());
}

}  // namespace holdfast::lab
