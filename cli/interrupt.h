/* cli/interrupt.h -- the signals that ask this process to stop: INT, TERM, and HUP where nohup does not have it ignored. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

/* flags: of sigaction. */
void interrupt_catch(void (*handler)(int), int flags);
void interrupt_default(void);

#endif
