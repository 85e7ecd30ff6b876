#include "chaos/checker/models.hpp"

namespace holdfast::chaos {

violations check_loss_reports(std::span<const attempt> attempts) {
    violations found;
    for (const auto& a : attempts) {
        if (a.unreported != never)
            found.push_back({"unreported",
                             "a lease was over, and lost_token() did not report it",
                             a.lock,
                             {a.id},
                             a.unreported});
    }
    return found;
}

}  // namespace holdfast::chaos
