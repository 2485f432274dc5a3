/* IAC.app's program: runs iac-mcp so that macOS holds this app responsible for it.

   macOS gives a permission to the program that is responsible for who asks. That is the client that
   started the server, or a Python that changes with each update. This program starts itself once
   more as its own responsible program, then runs the server as its child and hands on what the
   server returns. It never changes, so the grant lasts. Only a Mac can confirm this. */

#include <crt_externs.h>
#include <mach-o/dyld.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In libSystem, in no header: as LLDB and Chromium use it. */
int responsibility_spawnattrs_setdisclaim(posix_spawnattr_t *attributes, int disclaim);

static pid_t server;

static void hand_on(int number) {
    if (server > 0)
        kill(server, number);
}

int main(int count, char **words) {
    char ***environment = _NSGetEnviron();
    posix_spawnattr_t attributes;
    if (getenv("IAC_HELPER") == NULL) {
        setenv("IAC_HELPER", "1", 1);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETEXEC);
        responsibility_spawnattrs_setdisclaim(&attributes, 1);
        char path[4096];
        uint32_t room = sizeof path;
        _NSGetExecutablePath(path, &room);
        int failed = posix_spawn(NULL, path, NULL, &attributes, words, *environment);
        fprintf(stderr, "IAC.app: cannot start itself: %s\n", strerror(failed));
        return 1;
    }
    if (count < 2) {
        fprintf(stderr, "IAC.app: name iac-mcp's path first, then its arguments.\n");
        return 2;
    }
    unsetenv("IAC_HELPER");
    signal(SIGTERM, hand_on);
    signal(SIGINT, hand_on);
    signal(SIGHUP, hand_on);
    int failed = posix_spawn(&server, words[1], NULL, NULL, words + 1, *environment);
    if (failed) {
        fprintf(stderr, "IAC.app: cannot start %s: %s\n", words[1], strerror(failed));
        return 1;
    }
    /* The client's pipe belongs to the server alone, or its end would not be seen. */
    close(0);
    close(1);
    int status;
    while (waitpid(server, &status, 0) < 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
