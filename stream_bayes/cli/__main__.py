"""`python -m stream_bayes.cli`."""

from stream_bayes.cli import main

if __name__ == "__main__":
    main()
