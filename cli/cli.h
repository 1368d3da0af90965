/* cli/cli.h -- the command line: options in, files and exit status out. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

int cli_main(int argc, char **argv);

#endif
