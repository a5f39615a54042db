"""`stream-bayes demo`: a mailbox that is filtered live by a worker process.

mailbox             generated mails
mail_sources        the mails of the demo, generated or from a corpus, with their true labels
workspace           the folder with the log, the settings and the checkpoints
process             the worker and the web page as processes: start, kill, restart, stop
feeder              writes mails to the log at a steady pace
simulated_labeller  answers label requests with the true labels
output_follower     reads the output of the worker
accuracy            predictions against the true labels
scenario            the demo step by step
live_labelling      the demo with a person as the labeller, on the web page
figures             the state of the demo as numbers
display             live screen or plain lines
screen              layout of the live screen
summary             the final table, and commands to go on
picture             the learning curve as SVG
startup_screen      spinner while code is loaded and compiled
"""
