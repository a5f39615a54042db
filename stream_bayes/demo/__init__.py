"""What `stream-bayes demo` shows: a mailbox that is filtered live by a worker in a process of its own.

mailbox     generated mails
mails       the mails of the demo, generated or from a corpus, and their true labels
place       the folder with the log, the settings, the checkpoints
process     the worker and the page: started, killed, started again, ended
postman     mails into the log at a steady pace
labeller    answers label requests
scores      predictions against the true labels
play        all of these together, step by step
live        the same with a person as the labeller, on the page
figures     the state of the demo in numbers, at any moment and at the end
stage       shows them: a live screen, or plain lines
screen      the live screen
ending      the summary, and the commands to go on
picture     the learning curve
waiting     what is shown while code is loaded and compiled
"""
