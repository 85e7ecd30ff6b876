#!/usr/bin/env bash
# The completion for zsh, tested in an interactive zsh with typed lines.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
command -v zsh > /dev/null || exit 77
install_to "$scratch/prefix"
mkdir "$scratch/files" "$scratch/programs"
touch "$scratch/files/one.conf" "$scratch/programs/our-program"
chmod +x "$scratch/programs/our-program"
cat > "$scratch/typist" << 'END'
zmodload zsh/zpty
setup='
PROMPT= RPROMPT= LISTMAX=0
unsetopt beep
path+=('$2')
fpath=('$1'/share/zsh/site-functions $fpath)
autoload -Uz compinit && compinit -u -D
bindkey -e
bindkey "^I" complete-word
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a matches
    builtin compadd -A matches "$@"
    collected+=($matches)
    builtin compadd "$@"
}
tell() {
    print -r -- "offe""red<${collected}>"
    collected=()
    compstate[insert]= compstate[list]=
    comppostfuncs=(tell)
}
comppostfuncs=(tell)
print rea''dy
'
zpty shell zsh -f -i
zpty -w shell $setup
zpty -r -m shell seen '*ready*'
while IFS= read -r line; do
    zpty -w -n shell $line$'\t'
    zpty -r -m shell seen '*offered<*>*'
    seen=${seen##*offered<}
    print -r -- ${seen%%>*}
    zpty -w -n shell $'\x15'
done
END
# offers WANTED LINE: completing the line gives exactly the words of WANTED
wanted=() lines=()
offers() {
    wanted+=("$1")
    lines+=("$2")
}
offers 'run ls inspect evict doctor latch switch demo lab' 'holdfast '
offers 'inspect' 'holdfast i'
offers 'run' 'holdfast --url redis://db1:6379 r'
offers '--kind' 'holdfast run --k'
offers 'mutex recursive fair fenced shared semaphore permits' 'holdfast run --kind '
offers 'recursive' 'holdfast run --kind=rec'
offers 'doctor demo' 'holdfast d'
offers 'mutex recursive fair fenced shared semaphore permits latch' 'holdfast doctor --kind '
offers 'term' 'holdfast run -n --on-loss t'
offers '' 'holdfast run --ttl '
offers '--yes' 'holdfast evict stock:42 --y'
offers '' 'holdfast inspect '
offers 'gold' 'holdfast lab go'
offers 'en zh' 'holdfast lab gold --lang '
offers 'down' 'holdfast latch ready d'
offers 'set down wait count erase' 'holdfast --url redis://db1 latch --json ready '
offers 'one.conf' "holdfast --config $scratch/files/on"
offers 'our-program' 'holdfast run stock -- our-'
offers 'one.conf' "holdfast run stock -- cat $scratch/files/on"
printf '%s\n' "${lines[@]}" | timeout -k 5 120 zsh -f "$scratch/typist" "$scratch/prefix" "$scratch/programs" > "$scratch/said"
mapfile -t said < "$scratch/said"
for i in "${!lines[@]}"; do
    [[ ${said[i]-} == "${wanted[i]}" ]] || fail "${lines[i]}: offers \"${said[i]-}\" and not \"${wanted[i]}\""
done
