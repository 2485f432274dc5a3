builtin printf 'begun\0' >&STATE; iac_name=; iac_known=;
iac_known=$'\n'"$(builtin compgen -v)"$'\n'; cd -- "$2" 2>/dev/null; eval "$3" 2>/dev/null;
ulimit -c 0; ulimit -f FILE; { ulimit -v MEMORY; ulimit -u PROCESSES; } 2>/dev/null;
date() { case " $*" in *' -'[dfrs]*|*' -u'[dfrs]*|*' --'[dfs]*|*' --ref'*) command date "$@" ;;
*) command date CLOCK "$@" ;; esac; };
trap '{ builtin printf "%s\0" "$PWD"; builtin declare -px; IFS=$'"' \t\n'"';
for iac_name in $(builtin compgen -v); do [[ $iac_known == *$'"'\n'"'$iac_name$'"'\n'"'* ||
$iac_name == BASH* ]] || builtin declare -p "$iac_name"; done; } >&STATE 2>/dev/null' EXIT;
eval 'set --;' "$1"
