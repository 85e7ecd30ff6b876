#include "chaos/checker/models.hpp"

namespace holdfast::chaos {

violations check_losses(std::span<const attempt> attempts) {
    violations found;
    for (const auto& a : attempts) {
        if (a.lost != never)
            found.push_back({"silent_loss",
                             "a lease was over " + relative(a.promised, a.lost) + " before its deadline",
                             a.lock,
                             {a.id},
                             a.lost});
    }
    return found;
}

}  // namespace holdfast::chaos
