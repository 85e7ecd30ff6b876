#!/usr/bin/env bash
# The completion for fish, tested by fish itself.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
command -v fish > /dev/null || exit 77
install_to "$scratch/prefix"
mkdir "$scratch/files" "$scratch/programs" "$scratch/home"
touch "$scratch/files/one.conf" "$scratch/programs/our-program"
chmod +x "$scratch/programs/our-program"
export HOME=$scratch/home PATH=$PATH:$scratch/programs script=$scratch/prefix/share/fish/vendor_completions.d/holdfast.fish

# offers WANTED LINE: completing the line gives exactly the words of WANTED, sorted
offers() {
    local said
    # shellcheck disable=SC2016  # fish expands it
    said=$(line=$2 fish --no-config -c 'source $script; complete -C $line' | cut -f 1 | LC_ALL=C sort | paste -sd ' ')
    [[ $said == "$1" ]] || fail "$2: offers \"$said\" and not \"$1\""
}
offers 'demo doctor evict inspect lab latch ls run switch' 'holdfast '
offers 'run' 'holdfast ru'
offers 'run' 'holdfast --url redis://db1:6379 ru'
offers '--kind' 'holdfast run --k'
offers 'fair fenced mutex permits recursive semaphore shared' 'holdfast run --kind '
offers '--kind=recursive' 'holdfast run --kind=rec'
offers 'demo doctor' 'holdfast d'
offers 'fair fenced latch mutex permits recursive semaphore shared' 'holdfast doctor --kind '
offers 'term' 'holdfast run -n --on-loss te'
offers '' 'holdfast run --ttl '
offers '--yes' 'holdfast evict stock:42 --y'
offers '' 'holdfast inspect '
offers 'gold' 'holdfast lab go'
offers 'en zh' 'holdfast lab gold --lang '
offers 'down' 'holdfast latch ready do'
offers '' 'holdfast latch ready down '
offers 'count down erase set wait' 'holdfast --url redis://db1 latch --json ready '
offers "$scratch/files/one.conf" "holdfast --config $scratch/files/on"
offers 'our-program' 'holdfast run stock -- our-'
offers "$scratch/files/one.conf" "holdfast run stock -- cat $scratch/files/on"
