#!/usr/bin/env bash
# The completion for bash, called as bash calls it, without the package bash-completion.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
install_to "$scratch/prefix"
# shellcheck source=/dev/null
source "$scratch/prefix/share/bash-completion/completions/holdfast"
compopt() { :; } # bash refuses it outside of a completion
complete -p holdfast > /dev/null || fail "it is not registered"

# offers WANTED WORD...: completing the last word gives exactly the words of WANTED
offers() {
    local wanted=$1
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _holdfast
    [[ ${COMPREPLY[*]} == "$wanted" ]] || fail "$*: offers \"${COMPREPLY[*]}\" and not \"$wanted\""
}
touch "$scratch/one.conf" "$scratch/two words.conf"
mkdir "$scratch/programs"
touch "$scratch/programs/our-program"
chmod +x "$scratch/programs/our-program"
PATH=$PATH:$scratch/programs

offers 'run ls inspect evict doctor latch switch demo lab' holdfast ''
offers 'inspect' holdfast i
offers 'run' holdfast --url redis : //db1:6379 r
offers '--version' holdfast --v
offers '--kind' holdfast run --k
offers 'mutex recursive fair fenced shared semaphore permits' holdfast run --kind ''
offers 'recursive' holdfast run --kind r
offers 'mutex recursive fair fenced shared semaphore permits' holdfast run --kind =
offers 'recursive' holdfast run --kind = rec
offers 'mutex' holdfast demo --kind m
offers 'doctor demo' holdfast d
offers 'mutex recursive fair fenced shared semaphore permits latch' holdfast doctor --kind ''
offers '--quiet' holdfast doctor --q
offers 'term' holdfast run -n --on-loss t
offers '' holdfast run --ttl ''
offers '--url' holdfast ls --u
offers '' holdfast demo --u
offers '--yes' holdfast evict stock:42 --y
offers '' holdfast inspect ''
offers '--runs' holdfast lab gold --r
offers 'gold' holdfast lab go
offers 'en zh' holdfast lab gold --lang ''
offers 'down' holdfast latch ready d
offers '' holdfast latch ready down ''
offers 'set down wait count erase' holdfast --url redis://db1 latch --json ready ''
offers "$scratch/two words.conf" holdfast --config "$scratch/two"
offers 'our-program' holdfast run stock -- our-
offers "$scratch/one.conf" holdfast run stock -- cat "$scratch/one"
offers '' holdfast run stock -- no-such-program --k

_command_offset() { COMPREPLY=("word $1 is another's"); }
offers "word 4 is another's" holdfast run stock -- our-
