builtin printf 'begun\0' >&STATE; cd -- "$2" 2>/dev/null; unset OLDPWD;
ulimit -c 0; ulimit -f FILE; { ulimit -v MEMORY; ulimit -u PROCESSES; } 2>/dev/null;
date() { case " $*" in *' -'[dfrs]*|*' -u'[dfrs]*|*' --'[dfs]*|*' --ref'*) command date "$@" ;;
*) command date CLOCK "$@" ;; esac; };
trap 'builtin printf "%s\0" "$PWD" >&STATE 2>/dev/null' EXIT;
eval 'set --;' "$1" && :
